import { readFileSync } from 'node:fs'
import { type Static, Type } from 'typebox'

/**
 * Where a secret is to be found: `{"env": "NAME"}`, a variable of the environment, or `{"file": "/path"}`, a file
 * that holds it and nothing else. A secret itself never stands among the settings of a provider.
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

export type Env = Readonly<Record<string, string | undefined>>

/** A secret is not where the settings say. The message names the place and holds nothing of what is there. */
export class SecretError extends Error {
  override readonly name = 'SecretError'
}

/**
 * @returns the secret, without white space around it
 * @throws SecretError where the variable is not set, the file cannot be read, or nothing is there
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
