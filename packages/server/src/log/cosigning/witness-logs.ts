import { readFileSync } from 'node:fs'
import { type LogPolicy, type NoteKey, PolicyError, parsePolicy } from '@countersign/protocol'
import { type Settings, SettingsError } from '../../base/config.ts'

/**
 * Reads the file that WITNESS_LOGS names: lines `log <vkey>` of C2SP tlog-policy.
 * @returns the keys of the logs that this service witnesses; null if it witnesses none
 * @throws SettingsError
 */
export function readWitnessLogs({
  witnessLogs: file,
}: Pick<Settings, 'witnessLogs'>): readonly NoteKey[] | null {
  if (file === null) return null
  const { logs, witnesses } = parse(`${read(file)}\nquorum none\n`)
  if (logs.length > 0 && witnesses.length === 0) return logs.map(({ key }) => key)
  throw new SettingsError(['WITNESS_LOGS: the file must have lines "log <vkey>", and no others'])
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code = 'it failed' } = error as NodeJS.ErrnoException
    throw new SettingsError([`WITNESS_LOGS: the file cannot be read (${code})`])
  }
}

function parse(text: string): LogPolicy {
  try {
    return parsePolicy(text)
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    throw new SettingsError([`WITNESS_LOGS: ${error.message}`])
  }
}
