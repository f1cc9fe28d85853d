import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { CountersignError, type NewKey, newKey, type Signer } from '@countersign/sdk'
import { writeKeyFile } from '@countersign/sdk/node'
import { codeOf, Failure } from '@countersign/sdk/tool-support'
import type { Invocation } from '../invocation.ts'

/** What was done with a key, and whether the key is a new one. */
export interface WithKey<T> {
  readonly result: T
  readonly key: Signer
  readonly isNew: boolean
}

/**
 * Claims with the agent's own key, or with a new one if there is no key file. A new key is on disk before it is used, but
 * gets the name of the key file only with a certificate: a refused claim leaves no key. It never replaces a key.
 * @throws Failure KEY_EXISTS if another process created the key file meanwhile; CountersignError UNUSABLE_KEY; what `claim` throws
 */
export async function claimWithOwnOrNewKey<T>(
  cli: Invocation,
  claim: (key: Signer) => Promise<T>,
): Promise<WithKey<T>> {
  const own = await ownKeyOf(cli)
  if (own !== null) return { result: await claim(own), key: own, isNew: false }
  const key = await newKey()
  const draft = `${cli.keyFile}.unclaimed-${randomUUID()}`
  await writeKeyFile(draft, key.pem)
  let result: T
  try {
    result = await claim(key)
  } catch (error) {
    await keepOrRemove(cli, draft, key, error)
    throw error
  }
  await adopt(cli, draft, key)
  return { result, key, isNew: true }
}

async function ownKeyOf(cli: Invocation): Promise<Signer | null> {
  try {
    return await cli.ownKey()
  } catch (error) {
    if (codeOf(error) === 'NO_KEY') return null
    throw error
  }
}

/** If the service may have accepted the claim, the key may have a certificate. */
async function keepOrRemove(cli: Invocation, draft: string, key: NewKey, error: unknown) {
  const isRefused = error instanceof CountersignError && error.code !== 'OUTCOME_UNKNOWN'
  await (isRefused ? rm(draft, { force: true }) : adopt(cli, draft, key))
}

async function adopt(cli: Invocation, draft: string, key: NewKey): Promise<void> {
  try {
    await writeKeyFile(cli.keyFile, key.pem)
  } catch (cause) {
    if (codeOf(cause) !== 'KEY_EXISTS') throw cause
    const message = `The claim was sent with a new key, and another process created ${cli.keyFile} meanwhile. The new key is in ${draft}.`
    throw new Failure('KEY_EXISTS', message, { cause })
  }
  await rm(draft, { force: true })
}
