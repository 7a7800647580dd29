/* libtenon opened at run time, as language bindings and hosts that are plugins do: by a C program
 * that does not link it, from a thread, while older threads exist. They use it, too, and with it
 * plugins that have thread-local storage. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include <tenon/abi/abi.h>

static const char *library_path, *fixtures;
static const tenon_host* host;
static const tenon_values_service* values;
static const tenon_tensors_service* tensors;
static const tenon_ops_service* ops;
static const tenon_plugins_service* plugins;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;

static void require(int holds, const char* what, const char* detail) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, detail == NULL ? "" : detail);
  exit(1);
}
static void check(tenon_status status, tenon_error* error, const char* what) {
  require(status == TENON_OK, what, error == NULL ? "" : values->error_message(error));
}

/* A slot that was forgotten is a call to null in a plugin. */
static void check_slots(const char* name, const tenon_service* table, size_t size) {
  require(table->size == size && table->version == 1, name, "another size or version");
  for (size_t offset = sizeof(tenon_service); offset < size; offset += sizeof(void*)) {
    void* slot = NULL;
    memcpy(&slot, (const char*)table + offset, sizeof(slot));
    if (slot != NULL) continue;
    fprintf(stderr, "slot %zu of %s is null\n", (offset - sizeof(tenon_service)) / sizeof(void*),
            name);
    exit(1);
  }
}
static const void* service(const char* name) {
  const void* table = NULL;
  require(host->service(name, 1, &table, NULL, NULL) == TENON_OK, "service", name);
  return table;
}
static void check_services(void) {
  require(host->size == sizeof(tenon_host) && host->magic == TENON_HOST_MAGIC, "host",
          "is another");
#define CHECK_SERVICE(name, NAME) \
  check_slots("tenon." #name, service("tenon." #name), sizeof(tenon_##name##_service));
  TENON_SERVICES(CHECK_SERVICE)
}

static void* open_library(void* unused) {
  (void)unused;
  void* library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
  require(library != NULL, "dlopen", library == NULL ? dlerror() : "");
  const tenon_host* (*get)(void);
  void* symbol = dlsym(library, "tenon_host_get");
  require(symbol != NULL, "dlsym", "tenon_host_get");
  memcpy(&get, &symbol, sizeof(get));
  pthread_mutex_lock(&mutex);
  host = get();
  values = service("tenon.values");
  tensors = service("tenon.tensors");
  ops = service("tenon.ops");
  plugins = service("tenon.plugins");
  pthread_cond_broadcast(&opened);
  pthread_mutex_unlock(&mutex);
  dlclose(library); /* it stays: threads may be at work in it */
  return NULL;
}

/* A product large enough for the pool, and ops of types that keep text per thread. */
static void use_library(void) {
  tenon_error* error = NULL;
  const int64_t shape[] = {512, 512};
  tenon_value operands[2] = {{.tag = TENON_VALUE_TENSOR}, {.tag = TENON_VALUE_TENSOR}};
  const tenon_value half = {.tag = TENON_VALUE_FLOAT, .as.number = 0.5};
  for (int i = 0; i < 2; ++i) {
    check(tensors->empty(TENON_F32, 2, shape, &operands[i].as.tensor, &error), error, "empty");
    check(tensors->fill(operands[i].as.tensor, &half, &error), error, "fill");
  }
  const char* const names[] = {"mm", "sum"};
  for (int i = 0; i < 2; ++i) {
    const tenon_op* op = NULL;
    tenon_value result = {0};
    check(ops->find(names[i], (int64_t)strlen(names[i]), &op, &error), error, names[i]);
    check(ops->call(op, operands, i == 0 ? 2 : 1, &result, &error), error, names[i]);
    tensors->release(operands[0].as.tensor);
    operands[0] = result;
  }
  tenon_value total;
  check(tensors->item(operands[0].as.tensor, &total, &error), error, "item");
  require(total.as.number == 512.0 * 512.0 * 128.0, "sum", "is not that of the product");
  tensors->release(operands[0].as.tensor);
  tensors->release(operands[1].as.tensor);

  const tenon_op* seen = NULL;
  tenon_value text = {0};
  check(ops->find("tx.log", 6, &seen, &error), error, "tx.log");
  check(ops->call(seen, NULL, 0, &text, &error), error, "tx.log");
  values->release(&text);
}

static void* wait_and_use(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  while (host == NULL) pthread_cond_wait(&opened, &mutex);
  pthread_mutex_unlock(&mutex);
  use_library();
  return NULL;
}

/* libtenon is visible to no other library, so a static object of a plugin that makes a tensor has no host: the
 * process says so and aborts. */
static void load_too_early(void) {
  int ends[2];
  char path[4096], said[512];
  snprintf(path, sizeof(path), "%s/../static_objects/static_objects.so", fixtures);
  require(pipe(ends) == 0, "pipe", NULL);
  const pid_t child = fork();
  if (child == 0) {
    tenon_error* error = NULL;
    dup2(ends[1], STDERR_FILENO);
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    plugins->load(path, &error);
    _exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got = 1; got > 0 && length < sizeof(said) - 1; length += (size_t)got) {
    got = read(ends[0], said + length, sizeof(said) - 1 - length);
    if (got < 0) got = 0;
  }
  said[length] = 0;
  int status = 0;
  waitpid(child, &status, 0);
  require(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "a static tensor", said);
  require(strstr(said, "make it a function-local static") != NULL, "a static tensor", said);
}

int main(int count, char** arguments) {
  require(count == 3, "usage", "open_test LIBRARY FIXTURES");
  library_path = arguments[1];
  fixtures = arguments[2];
  setenv("TENON_PLUGIN_PATH", fixtures, 1);
  pthread_t older, opener, younger;
  pthread_create(&older, NULL, wait_and_use, NULL);
  pthread_create(&opener, NULL, open_library, NULL);
  pthread_join(opener, NULL);
  check_services();
  pthread_create(&younger, NULL, wait_and_use, NULL);
  use_library();
  pthread_join(older, NULL);
  pthread_join(younger, NULL);
  load_too_early();
  puts("opened");
  return 0;
}
