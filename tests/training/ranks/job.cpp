// One rank of a training: job CONFIG WEIGHTS, then nothing or
//   stop BATCHES CHECKPOINT | resume CHECKPOINT | states | full CHECKPOINT | nan | bytes | fault NAME |
//   unlocked: the lock file of the config is compared, not applied
// TENON_TEST_TRAINERS is another folder of the fixture `trainers`.
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/resource.h>

#include <tenon/config/config.hpp>
#include <tenon/parallel.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/tenon.hpp>
#include <tenon/training/training.hpp>

namespace {

namespace training = tenon::training;

// No file grows beyond some bytes.
void fill_disk() {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{256, 256};
  setrlimit(RLIMIT_FSIZE, &limit);
}

// Counts bytes of the third step, by the engine `shared_memory`.
void count_bytes(training::Trainer& trainer) {
  trainer.batch_done = [before = 0.0, batch = 0, first = trainer.ranks().first()](double) mutable {
    const auto sent = tenon::Op("shared_memory.sent_bytes").call<double>();
    if (++batch == 3 && first) std::printf("bytes in a step: %.0f\n", sent - before);
    before = sent;
  };
}

// The fault of rank 1 after its third batch, while the others go to the next.
void add_fault(training::Trainer& trainer, const std::string& fault) {
  if (trainer.ranks().rank() != 1) return;
  trainer.batch_done = [fault, batch = 0](double) mutable {
    if (++batch != 3) return;
    const tenon::Op all_reduce("distributed.all_reduce");
    if (fault == "killed") std::raise(SIGKILL);
    if (fault == "stopped") std::raise(SIGSTOP);
    if (fault == "shape") all_reduce.call<tenon::Tensor>(tenon::full({7, 5}, 1.0));
    if (fault == "dtype") all_reduce.call<tenon::Tensor>(tenon::full({7}, 1.0).to(tenon::f64));
    if (fault == "op")
      tenon::Op("distributed.all_gather").call<tenon::Tensor>(tenon::full({7}, 1.0));
    if (fault == "extra call") tenon::Op("distributed.barrier").call<void>();
  };
}

void train(int count, char** arguments) {
  const std::string mode = count > 3 ? arguments[3] : "";
  tenon::add_plugin_path(TENON_FIXTURES);
  const char* trainers = std::getenv("TENON_TEST_TRAINERS");
  tenon::add_plugin_path(trainers != nullptr ? trainers : TENON_TRAINERS);
  const tenon::Json config = training::read_config(arguments[1]);
  if (mode != "unlocked") tenon::config::apply(config);
  tenon::seed_generator(static_cast<uint64_t>(config["seed"].integer(0)));
  training::Dataset dataset = training::load_dataset(config["data"], config["split"]);
  if (mode == "nan")
    tenon::fill_elements(tenon::narrow(dataset.train.inputs, 0, 0, 1), std::nan(""));
  tenon::Module model = tenon::create_module(config["model"]);
  training::fit_labels(config, model, dataset);
  if (mode == "states") {
    const training::Ranks ranks(config["distributed"]);
    const training::TensorParallel parts(ranks, model, config);
    const training::Optimizer optimizer(config["optimizer"], model.named_parameters(), ranks);
    std::printf(" %d elements of states\n", static_cast<int>(optimizer.kept_elements()));
    return;
  }
  training::Trainer trainer(config, model, dataset);
  if (mode == "resume") trainer.resume(arguments[4]);
  if (mode == "full") {
    trainer.write_checkpoints(arguments[4]);
    if (trainer.ranks().first()) fill_disk();
  }
  // All ranks stop after the batch in which one is interrupted: the one before is its last moment.
  int64_t left = mode == "stop" ? std::stoll(arguments[4]) - 1 : -1;
  if (left == 0) tenon::request_interrupt();
  trainer.batch_done = [&](double) {
    if (--left == 0) tenon::request_interrupt();
  };
  if (mode == "bytes") count_bytes(trainer);
  if (mode == "fault") add_fault(trainer, arguments[4]);
  const bool finished = trainer.run();
  tenon::clear_interrupt();
  if (!finished) trainer.save_checkpoint(arguments[5]);
  if (!trainer.ranks().first()) return;
  tenon::state::save(model, arguments[2]);
  std::printf("%d ranks, train loss %.9g\n", static_cast<int>(trainer.ranks().size()),
              finished ? trainer.history().back().train_loss : 0.0);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  try {
    train(count, arguments);
    return 0;
  } catch (const tenon::Error& error) {
    std::printf("%s: %s\n", error.kind_name(), error.what());
    return error.kind() == TENON_ERROR_DISTRIBUTED ? 75 : 1;
  }
}
