"""The boundary as tenon.py copies it is that of the headers."""

import pathlib
import re
import sys
import unittest

import tenon

HEADERS = pathlib.Path(sys.argv.pop(1))


def declared(service):
    """Slots of a service's table in their order, each with its prototype."""
    text = re.sub(r"/\*.*?\*/", "", (HEADERS / "service" / f"{service}.h").read_text(), flags=re.S)
    table = re.search(rf"typedef struct tenon_{service}_service \{{(.*?)\n\}} tenon_{service}_service;", text, re.S)
    slots = re.findall(r"([\w ]+\*?) ?\(TENON_CALL\* ?(\w+)\)\((.*?)\);", " ".join(table[1].split()))
    return [(name, result.strip(), parameters(arguments)) for result, name, arguments in slots]


def parameters(text):
    found, depth, start = [], 0, 0
    for i, sign in enumerate(text + ","):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            found.append(text[start:i].strip())
            start = i + 1
    return [] if found == ["void"] else found


def letter(declaration):
    """The letter that tenon.py has for a result or parameter."""
    if declaration == "void":
        return "v"
    if declaration.count("*") == 1 and re.match(r"const char ?\*", declaration):
        return "s"
    if "*" in declaration:
        return "p"
    word = declaration.split()[0]
    return {"tenon_status": "i", "int32_t": "i", "uint32_t": "u", "int64_t": "l", "tenon_dtype": "b"}[word]


class Slots(unittest.TestCase):
    def test_slots_have_the_place_and_the_prototype_of_the_header(self):
        for service, slots in tenon._SERVICES.items():
            names = slots.split()
            for copied, (name, result, arguments) in zip(names, declared(service)):
                with self.subTest(service=service, slot=copied):
                    copied_name, _, letters = copied.partition(":")
                    self.assertEqual(copied_name, name)
                    if letters:
                        self.assertEqual(letters, "".join(map(letter, [result] + arguments)))
            self.assertLessEqual(len(names), len(declared(service)))

    def test_dtypes_have_the_codes_of_the_header(self):
        text = (HEADERS / "dtype.h").read_text()
        declared_names = {int(code): (name, int(size)) for name, code, size in
                          re.findall(r"X\((\w+), (\d+), (\d+), \w+, \"", text)}
        long_names = re.findall(r"X\((\w+), \"(\w+)\"\)", text)
        self.assertEqual(sorted(declared_names), sorted(tenon._DTYPES))
        for code, (name, numpy_code) in tenon._DTYPES.items():
            with self.subTest(dtype=name):
                short, size = declared_names[code]
                self.assertTrue(name == "bool" or (short, name) in long_names)
                if numpy_code not in (None, "?"):
                    self.assertEqual(size, int(numpy_code[1:]))

    def test_every_kind_of_error_has_a_class(self):
        kinds = re.findall(r"X\(\w+, (\d+), \"(\w+)\"", (HEADERS / "error.h").read_text())
        self.assertEqual([(int(code), name) for code, name in kinds],
                         [(code, kind.__name__) for code, kind in enumerate(tenon._KINDS) if kind])


if __name__ == "__main__":
    unittest.main()
