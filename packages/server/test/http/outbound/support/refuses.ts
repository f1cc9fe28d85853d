import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { ProviderFailure, ProviderRefusal } from '../../../../src/accounts/providers/provider.ts'

/**
 * Asserts that it ends in a refusal, for the human, whose words match, and that none of the secrets is in it, those
 * among them that the list gets while it runs.
 */
export const refuses = (promise: Promise<unknown>, words: RegExp, secrets: readonly string[]) =>
  endsIn(promise, ProviderRefusal, words, secrets)

/** Asserts that it ends in a failure, of the provider or of the host's settings. */
export const fails = (promise: Promise<unknown>, words: RegExp, secrets: readonly string[]) =>
  endsIn(promise, ProviderFailure, words, secrets)

async function endsIn(
  promise: Promise<unknown>,
  type: typeof ProviderRefusal | typeof ProviderFailure,
  words: RegExp,
  secrets: readonly string[],
): Promise<void> {
  const error: unknown = await promise.then(
    () => assert.fail('it went through'),
    (thrown) => thrown,
  )
  assert.ok(error instanceof type, inspect(error))
  assert.match(error.message, words)
  // Whatever a log could make of it, its cause and further members included.
  for (const secret of secrets) assert.ok(!inspect(error, { depth: 9 }).includes(secret))
}
