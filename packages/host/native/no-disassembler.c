// Preloaded into QEMU under the name of its disassembler, which then is not loaded. QEMU wants one only for
// its debug log; for that the real library writes 1.3 MB of addresses into its tables at each start, which no
// two QEMUs share, and takes 3 of the 20 ms (measured with QEMU 7.2). A QEMU that asks anyway is told that
// there is none for its CPU.
#include <stdbool.h>
#include <stddef.h>

enum { UNSUPPORTED_ARCHITECTURE = 2 };

int cs_open(int architecture, int mode, size_t *handle) {
  (void)architecture, (void)mode, (void)handle;
  return UNSUPPORTED_ARCHITECTURE;
}

// QEMU calls these only with a handle, and it never gets one. They exist because QEMU does not start where
// one is missing.
int cs_close(void) { return UNSUPPORTED_ARCHITECTURE; }
int cs_option(void) { return UNSUPPORTED_ARCHITECTURE; }
int cs_errno(void) { return UNSUPPORTED_ARCHITECTURE; }
bool cs_disasm_iter(void) { return false; }
size_t cs_disasm(void) { return 0; }
void *cs_malloc(void) { return NULL; }
void cs_free(void) {}
