// The files that QEMU is started with, under the numbers that its command line names. They are made and opened on the machine, as root.
#pragma once

enum { STATE_FD = 3, PAGES_FD = 4, TAP_FD = 10, LISTEN_FD = 11, CONSOLE_FD = 13, REPORT_FD = 14 };

// Gives an open file its number.
void keep(int fd, int as, const char *what);
void open_log(const char *file);
void open_for_reading(const char *file, int as);
void open_tap(const char *name);
void bind_socket(const char *name, int as);
void start_console(const char *program, const char *file, const char *uid);
// All that have no number.
void close_others(void);
