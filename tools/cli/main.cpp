// The program `tenon`: an ordinary application over the SDK.
#include "arguments.hpp"
#include "exit_code.hpp"
#include "program.hpp"

int main(int count, char** arguments) {
  return cli::run_program([=] {
    const cli::Invocation invocation = cli::parse_arguments(count, arguments);
    if (!invocation.command) return cli::kFine;
    cli::apply_session(invocation.session);
    return invocation.command();
  });
}
