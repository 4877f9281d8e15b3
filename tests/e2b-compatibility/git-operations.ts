// Operations of the SDK's Git helper, on a repository in the sandbox and one beside it that stands for a server's.

import { holds, same } from "./operation.ts";
import type { SdkContext, SdkOperation } from "./sdk.ts";

const area = "Git";
const AUTHOR = { authorName: "Ada", authorEmail: "ada@example.com" };

export const gitOperations: readonly SdkOperation[] = [
  {
    ...{ area, name: "init, add, commit, status" },
    covers: ["Git.init", "Git.add", "Git.commit", "Git.status"],
    async attempt({ sandbox: { git, files, commands } }) {
      await commands.run("rm -rf repo");
      await git.init("repo", { initialBranch: "main" });
      await files.write("repo/a.txt", "one\n");
      same((await git.status("repo")).untrackedCount, 1);
      await git.add("repo");
      same((await git.status("repo")).stagedCount, 1);
      await git.commit("repo", "first", AUTHOR);
      const { currentBranch, isClean } = await git.status("repo");
      same([currentBranch, isClean], ["main", true]);
    },
  },
  {
    ...{ area, name: "branches: create, check out, list, delete" },
    covers: ["Git.createBranch", "Git.checkoutBranch", "Git.branches", "Git.deleteBranch"],
    async attempt(context) {
      const { git } = context.sandbox;
      await repository(context);
      await git.createBranch("repo", "side");
      same(await git.branches("repo"), { branches: ["main", "side"], currentBranch: "side" });
      await git.checkoutBranch("repo", "main");
      await git.deleteBranch("repo", "side");
      same(await git.branches("repo"), { branches: ["main"], currentBranch: "main" });
    },
  },
  {
    ...{ area, name: "reset, restore" },
    covers: ["Git.reset", "Git.restore"],
    async attempt(context) {
      const { git, files } = context.sandbox;
      await repository(context);
      await files.write("repo/a.txt", "two\n");
      await git.add("repo");
      await git.reset("repo");
      same((await git.status("repo")).hasStaged, false);
      await git.restore("repo", { paths: ["a.txt"] });
      same(await files.read("repo/a.txt"), "one\n");
    },
  },
  {
    ...{ area, name: "remotes: add, get; push, pull, clone" },
    covers: ["Git.remoteAdd", "Git.remoteGet", "Git.push", "Git.pull", "Git.clone"],
    async attempt(context) {
      const { git, files, commands } = context.sandbox;
      await repository(context);
      await commands.run("rm -rf away.git second && git init -q --bare -b main away.git");
      await git.remoteAdd("repo", "origin", "/home/user/away.git");
      same(await git.remoteGet("repo", "origin"), "/home/user/away.git");
      await git.push("repo", { remote: "origin", branch: "main", setUpstream: true });
      await git.clone("/home/user/away.git", { path: "second" });
      same(await files.read("second/a.txt"), "one\n");
      await files.write("repo/b.txt", "two\n");
      await git.add("repo");
      await git.commit("repo", "second", AUTHOR);
      await git.push("repo");
      await git.pull("second");
      same(await files.read("second/b.txt"), "two\n");
    },
  },
  {
    ...{ area, name: "configuration, the author, credentials" },
    covers: ["Git.setConfig", "Git.getConfig", "Git.configureUser", "Git.dangerouslyAuthenticate"],
    async attempt({ sandbox: { git, commands } }) {
      await git.setConfig("pull.rebase", "false");
      same(await git.getConfig("pull.rebase"), "false");
      await git.configureUser("Ada", "ada@example.com");
      same(await git.getConfig("user.email"), "ada@example.com");
      await git.dangerouslyAuthenticate({ username: "ada", password: "none", host: "git.example.com" });
      const { stdout } = await commands.run("cat .git-credentials");
      holds(stdout.includes("git.example.com"), "Git keeps the credentials");
    },
  },
];

async function repository({ sandbox: { git, files, commands } }: SdkContext): Promise<void> {
  await commands.run("rm -rf repo");
  await git.init("repo", { initialBranch: "main" });
  await files.write("repo/a.txt", "one\n");
  await git.add("repo");
  await git.commit("repo", "first", AUTHOR);
}
