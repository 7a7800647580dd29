/* usage: two_runtimes LIBRARY FIXTURES
 *
 * A program with two copies of libtenon, as one with two language bindings that each have theirs. Both
 * load the same plugin files. What one does, the other must not notice. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/abi/abi.h>

static void require(int holds, const char* what, const char* detail) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, detail == NULL ? "" : detail);
  exit(1);
}

static const tenon_host* open_copy(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  require(library != NULL, "dlopen", library == NULL ? dlerror() : "");
  const tenon_host* (*get)(void);
  void* symbol = dlsym(library, "tenon_host_get");
  require(symbol != NULL, "dlsym", "tenon_host_get");
  memcpy(&get, &symbol, sizeof(get));
  return get();
}

static void check(const tenon_host* host, tenon_status status, tenon_error* error,
                  const char* what) {
  require(status == TENON_OK, what, error == NULL ? "" : host->error_message(error));
}

static const tenon_op* find(const tenon_host* host, const char* name) {
  tenon_error* error = NULL;
  const tenon_op* op = NULL;
  check(host, host->op_find(name, (int64_t)strlen(name), &op, &error), error, name);
  return op;
}

/* 3 times 0.5, by an op of math; then its text, by an op that calls the host back. */
static void use(const tenon_host* host) {
  tenon_error* error = NULL;
  const int64_t shape[] = {3};
  tenon_value operands[2] = {{.tag = TENON_VALUE_TENSOR},
                             {.tag = TENON_VALUE_FLOAT, .as.number = 0.5}};
  const tenon_value three = {.tag = TENON_VALUE_FLOAT, .as.number = 3};
  tenon_value product = {0}, sum = {0}, item = {0}, text = {0};
  check(host, host->tensor_empty(TENON_F32, 1, shape, &operands[0].as.tensor, &error), error,
        "empty");
  check(host, host->tensor_fill(operands[0].as.tensor, &three, &error), error, "fill");
  check(host, host->op_call(find(host, "mul"), operands, 2, &product, &error), error, "mul");
  check(host, host->op_call(find(host, "sum"), &product, 1, &sum, &error), error, "sum");
  check(host, host->tensor_item(sum.as.tensor, &item, &error), error, "item");
  require(item.as.number == 4.5, "sum", "is not that of the product");
  check(host, host->op_call(find(host, "tx.log"), NULL, 0, &text, &error), error, "tx.log");
  host->value_release(&text);
  host->tensor_release(sum.as.tensor);
  host->tensor_release(product.as.tensor);
  host->tensor_release(operands[0].as.tensor);
}

static void* use_often(void* host) {
  for (int i = 0; i < 300; ++i) use(host);
  return NULL;
}

int main(int count, char** arguments) {
  require(count == 3, "usage", "two_runtimes LIBRARY FIXTURES");
  char folder[] = "/tmp/tenon-two-XXXXXX", copy[64], command[4096];
  require(mkdtemp(folder) != NULL, "mkdtemp", folder);
  snprintf(copy, sizeof(copy), "%s/libtenon-copy.so", folder);
  snprintf(command, sizeof(command), "cp '%s' '%s'", arguments[1], copy);
  require(system(command) == 0, "cp", command);
  /* The copy is not beside the plugins. */
  snprintf(command, sizeof(command), "%s/types:%s", arguments[2], arguments[1]);
  *strrchr(command, '/') = '\0';
  strcat(command, "/tenon/plugins");
  setenv("TENON_PLUGIN_PATH", command, 1);

  const tenon_host* const first = open_copy(arguments[1]);
  use(first);
  const tenon_host* const second = open_copy(copy);
  snprintf(command, sizeof(command), "rm -r '%s'", folder);
  require(system(command) == 0, "rm", command);
  require(first != second, "host", "both copies are one");
  use(second);
  use(first);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    pthread_create(&threads[i], NULL, use_often, (void*)(i % 2 == 0 ? first : second));
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);

  /* A setting, a plugin's state and a plugin that goes are of one copy alone. */
  tenon_error* error = NULL;
  first->thread_count_set(1);
  second->thread_count_set(3);
  require(first->thread_count() == 1 && second->thread_count() == 3, "threads", "are shared");
  tenon_status status = first->plugin_unload("math", TENON_UNLOAD_FORCE, 0, NULL, &error);
  check(first, status, error, "unload");
  use(second);
  check(first, first->plugin_load("math", &error), error, "load");
  use(first);
  use(second);
  return 0;
}
