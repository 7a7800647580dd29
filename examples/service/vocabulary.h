/* A vocabulary of the process: words and their numbers, a service of the plugin `vocabulary`.
 *
 * A slot: needs all the words. Not a slot: splitting text, or files of words. */
#ifndef EXAMPLES_VOCABULARY_H
#define EXAMPLES_VOCABULARY_H

#include <tenon/abi/abi.h>

/* Named "vocabulary". Append-only; any thread may call it. */
typedef struct vocabulary_service {
  tenon_service head;
  /* The number of a word, which is added when it is new. */
  tenon_status(TENON_CALL* number)(const char* word, int64_t length, int64_t* number,
                                   tenon_error** error);
  /* The word of a number; IndexError when there is none. Borrowed; valid as long as the service. */
  tenon_status(TENON_CALL* word)(int64_t number, tenon_string* word, tenon_error** error);
  /* How many words there are. */
  int64_t(TENON_CALL* size)(void);
} vocabulary_service;

#endif
