// Who commands run as, and where they begin.
#ifndef SKERRY_USER_H
#define SKERRY_USER_H

#include "child.h"

// In the agent: what a configure says holds for every later command, and what it does not name stays as it was.
void user_keep(const struct request *configure);

// In the child of a command: enters its folder and becomes its user. Answers that user's part of the environment.
char *const *user_enter(const struct request *request, struct outcome *outcome);

#endif
