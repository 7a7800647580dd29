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

/* One copy, and its services that are used here. */
typedef struct {
  const tenon_host* host;
  const tenon_values_service* values;
  const tenon_tensors_service* tensors;
  const tenon_ops_service* ops;
  const tenon_threads_service* threads;
  const tenon_plugins_service* plugins;
} runtime;

static const void* service(const tenon_host* host, const char* name) {
  const void* table = NULL;
  require(host->service(name, 1, &table, NULL, NULL) == TENON_OK, "service", name);
  return table;
}

static runtime open_copy(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  require(library != NULL, "dlopen", library == NULL ? dlerror() : "");
  const tenon_host* (*get)(void);
  void* symbol = dlsym(library, "tenon_host_get");
  require(symbol != NULL, "dlsym", "tenon_host_get");
  memcpy(&get, &symbol, sizeof(get));
  const tenon_host* host = get();
  const runtime opened = {host,
                          service(host, "tenon.values"),
                          service(host, "tenon.tensors"),
                          service(host, "tenon.ops"),
                          service(host, "tenon.threads"),
                          service(host, "tenon.plugins")};
  return opened;
}

static void check(const runtime* at, tenon_status status, tenon_error* error, const char* what) {
  require(status == TENON_OK, what, error == NULL ? "" : at->values->error_message(error));
}

static const tenon_op* find(const runtime* at, const char* name) {
  tenon_error* error = NULL;
  const tenon_op* op = NULL;
  check(at, at->ops->find(name, (int64_t)strlen(name), &op, &error), error, name);
  return op;
}

/* 3 times 0.5, by an op of math; then its text, by an op that calls the host back. */
static void use(const runtime* at) {
  tenon_error* error = NULL;
  const int64_t shape[] = {3};
  tenon_value operands[2] = {{.tag = TENON_VALUE_TENSOR},
                             {.tag = TENON_VALUE_FLOAT, .as.number = 0.5}};
  const tenon_value three = {.tag = TENON_VALUE_FLOAT, .as.number = 3};
  tenon_value product = {0}, sum = {0}, item = {0}, text = {0};
  check(at, at->tensors->empty(TENON_F32, 1, shape, &operands[0].as.tensor, &error), error,
        "empty");
  check(at, at->tensors->fill(operands[0].as.tensor, &three, &error), error, "fill");
  check(at, at->ops->call(find(at, "mul"), operands, 2, &product, &error), error, "mul");
  check(at, at->ops->call(find(at, "sum"), &product, 1, &sum, &error), error, "sum");
  check(at, at->tensors->item(sum.as.tensor, &item, &error), error, "item");
  require(item.as.number == 4.5, "sum", "is not that of the product");
  check(at, at->ops->call(find(at, "tx.log"), NULL, 0, &text, &error), error, "tx.log");
  at->values->release(&text);
  at->tensors->release(sum.as.tensor);
  at->tensors->release(product.as.tensor);
  at->tensors->release(operands[0].as.tensor);
}

static void* use_often(void* at) {
  for (int i = 0; i < 300; ++i) use(at);
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

  const runtime one = open_copy(arguments[1]), *const first = &one;
  use(first);
  const runtime other = open_copy(copy), *const second = &other;
  snprintf(command, sizeof(command), "rm -r '%s'", folder);
  require(system(command) == 0, "rm", command);
  require(one.host != other.host && one.ops != other.ops, "host", "both copies are one");
  use(second);
  use(first);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    pthread_create(&threads[i], NULL, use_often, (void*)(i % 2 == 0 ? first : second));
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);

  /* A setting, a plugin's state and a plugin that goes are of one copy alone. */
  tenon_error* error = NULL;
  first->threads->count_set(1);
  second->threads->count_set(3);
  require(first->threads->count() == 1 && second->threads->count() == 3, "threads", "are shared");
  tenon_status status = first->plugins->unload("math", TENON_UNLOAD_FORCE, 0, NULL, &error);
  check(first, status, error, "unload");
  use(second);
  check(first, first->plugins->load("math", &error), error, "load");
  use(first);
  use(second);
  return 0;
}
