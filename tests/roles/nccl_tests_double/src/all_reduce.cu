/* Double of nccl-tests: no GPU is asked. */
#include <nccl.h>
#include <stdio.h>

int main(void) {
  printf("double of all_reduce_perf: NCCL %s, MPI %d\n", NCCL_VERSION_TEXT, MPI);
  return 0;
}
