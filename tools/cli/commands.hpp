// The commands, each defined in the file of its name.
#pragma once

#include "command.hpp"
#include "exit_code.hpp"

namespace cli {

void define_ambiguities(Commands& commands);
void define_bench(Commands& commands);
void define_call(Commands& commands);
void define_catalogue(Commands& commands);
void define_check(Commands& commands);
void define_compat(Commands& commands);
void define_completion(Commands& commands);
void define_convert(Commands& commands);
void define_coverage(Commands& commands);
void define_diff(Commands& commands);
void define_docs(Commands& commands);
void define_export(Commands& commands);
void define_graph(Commands& commands);
void define_help(Commands& commands);
void define_ignored(Commands& commands);
void define_lock(Commands& commands);
void define_modules(Commands& commands);
void define_new(Commands& commands);
void define_open_plugin(Commands& commands);
void define_ops(Commands& commands);
void define_overridable(Commands& commands);
void define_plan(Commands& commands);
void define_plugins(Commands& commands);
void define_predict(Commands& commands);
void define_replay(Commands& commands);
void define_rewrites(Commands& commands);
void define_run(Commands& commands);
void define_schema(Commands& commands);
void define_show(Commands& commands);
void define_signature(Commands& commands);
void define_tune(Commands& commands);
void define_types(Commands& commands);
void define_version(Commands& commands);
void define_why(Commands& commands);
void define_wrappers(Commands& commands);

// tenon --version --json: versions, compiler, commit, and each plugin that is found, with the hash of its file.
void print_inside();

}  // namespace cli
