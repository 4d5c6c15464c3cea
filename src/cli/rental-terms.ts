// Made by `npm run schema` (scripts/client-types.mjs); do not edit.
// biome-ignore-all format: generated
// biome-ignore-all lint: generated
// biome-ignore-all assist: generated

export const RENTAL_TERMS = [
  {
    "name": "stopAt",
    "member": "stop_at",
    "kind": "when",
    "help": "Stop the instance automatically",
    "description": "When to stop the instance automatically. Its disk is kept. Its GPUs are billed until that second. Format: a time from now such as 90m, 8h or 2d12h, or an instant such as 2026-11-23T18:00:00Z."
  },
  {
    "name": "destroyAt",
    "member": "destroy_at",
    "kind": "when",
    "help": "Destroy the instance and its disk automatically",
    "description": "When to destroy the instance, with its disk, automatically. It is billed until that second. Format: a time from now such as 90m, 8h or 2d12h, or an instant such as 2026-11-23T18:00:00Z."
  },
  {
    "name": "spendLimit",
    "member": "spend_limit",
    "kind": "usd",
    "help": "Stop the instance once its total cost reaches this amount in USD",
    "description": "Maximum total cost of the instance in USD: GPUs, disk, the minimum after preempting another instance, and an early exit. The instance stops at the second in which it reaches the limit. Its disk is kept and billed."
  },
  {
    "name": "stopWhenIdle",
    "member": "stop_when_idle",
    "kind": "minutes",
    "help": "Stop the instance after this much idle time, 5m to 24h",
    "description": "Minutes of idleness after which the instance stops automatically: no GPU was more than 5% busy and no client was connected. Its disk is kept and billed. Requires a machine whose host agent reports GPU load. This is a convenience that trusts the agent; use a spend limit to cap costs."
  },
  {
    "name": "labels",
    "member": "labels",
    "kind": "labels",
    "help": "Label for finding the instance in lists",
    "description": "Labels of the instance, by key, for finding it in lists. They have no effect on the container and can be changed later."
  },
  {
    "name": "volumes",
    "member": "volumes",
    "kind": "volumes",
    "help": "Attach a volume",
    "description": "Volumes of the account to mount in the container, each at its path. A volume can be in one instance at a time. A volume at /workspace replaces that folder of the instance's own disk."
  }
] as const;
