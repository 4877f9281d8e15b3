// Copies what a folder holds into another one. A program of its own: the builder runs this file beside the agent.
#ifndef SKERRY_COPY_TREE_H
#define SKERRY_COPY_TREE_H

enum owners { NEW_OWNERS, KEEP_OWNERS }; // all becomes the caller's, or stays its owner's

// `to` is a folder below `root`, and no link leads out of that; `from` is read where it is. Folders that are
// there keep their permissions, and a link to one stays what it is; anything else in the way is replaced.
// Returns 0, or 1 and says why on standard error.
int copy_tree(const char *root, const char *from, const char *to, enum owners owners);

#endif
