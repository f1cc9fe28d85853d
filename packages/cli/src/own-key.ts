import type { Command } from 'commander'
import type { AgentKey } from './agent-key.ts'
import { readKeyFile } from './key-file.ts'
import { warn } from './output.ts'
import { keyFileOf } from './settings.ts'

/**
 * The key of the agent that runs the command. Warns where others can read it.
 * @throws Failure NO_KEY, UNUSABLE_KEY
 */
export function ownKey(command: Command): AgentKey {
  const path = keyFileOf(command)
  const { key, exposed } = readKeyFile(path)
  if (exposed) warn(command, `other users of this machine may have read ${path}: chmod 600 it`)
  return key
}
