// The sandboxes' part of VM cleanup: what it carries out on one host.

async function carryOut(
  context: Context,
  { client, action, stop }: { client: HostClient; action: Action; stop: AbortSignal },
): Promise<void> {
  switch (action.kind) {
    case "discard":
      context.log.warn({ sandbox_id: action.vm.id }, "a microVM without a live row is removed");
      return client.destroyVm(action.vm, stop);
    case "fail":
      if (!(await fail(context, action))) return;
      context.log.warn({ sandbox_id: action.row.id, reason: action.reason }, "a sandbox has failed");
      // Gives back what is left of it; should this fail, the next activation finds a VM whose row has failed.
      return client.destroyVm(action.row, stop);
    case "lose":
      return void (await moveSandbox(context.db, action.row, "unreachable", { reason: action.reason }));
    case "adopt":
      return adopt(context, action.row);
    case "egress":
      return orPostpone(context, action.row, () =>
        reapplyEgress(context, { kind: sandboxVms, id: action.row.id }, stop),
      );
    case "finish":
      return orPostpone(context, action.row, () => finishDestroying(context, action.row, stop));
  }
}

/** False where another writer was first. */
function fail(context: Context, { row, reason }: Action & { kind: "fail" }): Promise<boolean> {
  return context.db.transaction().execute(async (transaction) => {
    const failed = await moveSandbox(transaction, row, "failed", { reason });
    if (failed === undefined) return false;
    await recordOwnActs(transaction, { service: SERVICE, action: "sandbox.fail", resource: "sandbox" }, [
      failed,
    ]);
    return true;
  });
}

async function adopt(context: Context, row: SandboxFact): Promise<void> {
  await context.db.transaction().execute(async (transaction) => {
    const adopted = await adoptSandbox(transaction, row);
    if (adopted === undefined) return;
    context.log.info({ sandbox_id: row.id }, "a sandbox runs after all: its host came back with it");
    await recordOwnActs(transaction, { service: SERVICE, action: "sandbox.adopt", resource: "sandbox" }, [
      adopted,
    ]);
  });
}

