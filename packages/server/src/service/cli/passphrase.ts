import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { CodedError } from '@countersign/protocol'
import type { Env } from '../../base/config.ts'

/** Shorter ones can be found by trying: the archive may lie around for years. */
const MIN_LENGTH = 16

/** The environment variable that has the passphrase, for scripts. */
export const PASSPHRASE_VARIABLE = 'KEYS_PASSPHRASE'

/**
 * Reads the passphrase of an archive: from a file, the environment, or the terminal. Never from the arguments, which other
 * users of the machine can see.
 * @param file its first line; undefined: not from a file
 * @param isNew whether to ask for it twice, and to refuse short ones
 * @throws CodedError VALIDATION_ERROR
 */
export async function readPassphrase(
  env: Env,
  file: string | undefined,
  isNew: boolean,
): Promise<string> {
  const passphrase = await find(env, file, isNew)
  if (passphrase === '') throw new CodedError('VALIDATION_ERROR', 'The passphrase is empty.')
  if (isNew && passphrase.length < MIN_LENGTH) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `The passphrase must have at least ${MIN_LENGTH} characters, such as six random words.`,
    )
  }
  return passphrase
}

async function find(env: Env, file: string | undefined, isNew: boolean): Promise<string> {
  if (file !== undefined) return readFileSync(file, 'utf8').split(/\r?\n/)[0] as string
  const variable = env[PASSPHRASE_VARIABLE]
  if (variable !== undefined) return variable
  if (!process.stdin.isTTY) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `There is no terminal to ask for the passphrase. Use --passphrase-file, or set ${PASSPHRASE_VARIABLE}.`,
    )
  }
  const typed = await ask('Passphrase: ')
  if (isNew && (await ask('Repeat the passphrase: ')) !== typed) {
    throw new CodedError('VALIDATION_ERROR', 'The passphrases differ.')
  }
  return typed
}

/** Asks at the terminal, without showing what is typed. */
async function ask(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true })
  const ended = new AbortController()
  lines.once('close', () => ended.abort())
  process.stderr.write(question)
  try {
    return await lines.question('', { signal: ended.signal })
  } catch {
    throw new CodedError('VALIDATION_ERROR', 'No passphrase was entered.')
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
