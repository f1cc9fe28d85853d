import type { Command } from 'commander'
import { type AgentKey, newAgentKey } from './agent-key.ts'
import { codeOf } from './exit.ts'
import { readKeyFile, writeKeyFile } from './key-file.ts'
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

/**
 * The same, and a new one where there is none yet. A key that is there is never replaced.
 * @throws Failure UNUSABLE_KEY
 */
export function ownOrNewKey(command: Command): { key: AgentKey; isNew: boolean } {
  try {
    return { key: ownKey(command), isNew: false }
  } catch (error) {
    if (codeOf(error) !== 'NO_KEY') throw error
  }
  const key = newAgentKey()
  try {
    writeKeyFile(keyFileOf(command), key.toPem(), false)
    return { key, isNew: true }
  } catch (error) {
    // Another process was faster: its key is the key.
    if (codeOf(error) !== 'KEY_EXISTS') throw error
    return { key: ownKey(command), isNew: false }
  }
}
