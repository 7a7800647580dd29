"""first_calls.py prints what its README shows."""

import pathlib
import subprocess
import sys
import unittest

EXAMPLE = pathlib.Path(sys.argv.pop(1))


class Example(unittest.TestCase):
    def test_the_program_prints_what_the_readme_shows(self):
        shown = (EXAMPLE / "README.md").read_text().partition("```text\n")[2].partition("```")[0]
        printed = subprocess.run([sys.executable, "-B", EXAMPLE / "first_calls.py"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        self.assertEqual(printed, shown)


if __name__ == "__main__":
    unittest.main()
