// A plugin of qemu's user emulation that counts the instructions a program executes, and prints the number at its end.
// The declarations are those of QEMU's plugin interface, version 1, as far as they are used here; Debian ships no
// header.
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>

extern "C" {

using qemu_plugin_id_t = uint64_t;
struct qemu_plugin_tb;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
using TranslationCallback = void (*)(qemu_plugin_id_t id, qemu_plugin_tb* tb);
using ExitCallback = void (*)(qemu_plugin_id_t id, void* data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, TranslationCallback callback);
void qemu_plugin_register_vcpu_tb_exec_inline(qemu_plugin_tb* tb, qemu_plugin_op op, void* counter, uint64_t by);
size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* tb);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, ExitCallback callback, void* data);
void qemu_plugin_outs(const char* text);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t instructions = 0;

static void translated(qemu_plugin_id_t, qemu_plugin_tb* tb) {
  qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &instructions, qemu_plugin_tb_n_insns(tb));
}

static void ended(qemu_plugin_id_t, void*) {
  char text[64];
  std::snprintf(text, sizeof(text), "instructions %" PRIu64 "\n", instructions);
  qemu_plugin_outs(text);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void*, int, char**) {
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, nullptr);
  return 0;
}

}  // extern "C"
