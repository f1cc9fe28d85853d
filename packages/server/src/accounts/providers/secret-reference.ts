import { readFileSync } from 'node:fs'
import { type Static, Type } from 'typebox'
import type { Env } from '../../base/config.ts'

/**
 * A reference to a secret: `{"env": "NAME"}` for an environment variable, or `{"file": "/path"}` for a file that
 * contains nothing else. Settings never contain the secret itself.
 */
export const secretReference = () =>
  Type.Union(
    [
      Type.Object({ env: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
      Type.Object({ file: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
    ],
    {
      description:
        'a reference to a secret, never the secret itself: {"env": "NAME"} or {"file": "/path"}',
    },
  )

export type SecretReference = Static<ReturnType<typeof secretReference>>

/** A secret cannot be read. The message names the variable or file, and contains nothing of its value. */
export class SecretError extends Error {
  override readonly name = 'SecretError'
}

/**
 * @returns the secret, without surrounding white space
 * @throws SecretError if the variable is not set or the file is empty or cannot be read
 */
export function resolveSecret(reference: SecretReference, env: Env): string {
  const secret = 'env' in reference ? fromEnvironment(reference.env, env) : fromFile(reference.file)
  if (secret !== '') return secret
  throw new SecretError(
    'env' in reference
      ? `the environment variable ${reference.env} is not set`
      : `the file ${reference.file} is empty`,
  )
}

function fromEnvironment(name: string, env: Env): string {
  return (env[name] ?? '').trim()
}

function fromFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new SecretError(`the file ${file} cannot be read (${code})`)
  }
}
