import { encodeBase64 } from '@countersign/protocol'
import { Agent } from '../agent.ts'
import { CountersignError } from '../errors.ts'
import type { Signer } from '../keys/signer.ts'
import type { Registry } from '../registry.ts'
import type { Recovering, Rotated } from '../responses/types.ts'
import { adoptKeyFile, keyFromFile } from './key-file.ts'

/** Options of `rotateKeyFile` and `recoverKeyFile`. */
export interface KeyFileOperation {
  readonly registry: Registry
  /** The key file. */
  readonly path: string
  /** Called if other users of the machine may read the file. Default: a warning of Node (COUNTERSIGN_KEY_EXPOSED). */
  readonly onExposed?: (path: string) => void
}

/** A key file after a rotation. */
export interface RotatedKeyFile extends Rotated {
  /** The new key: 32 bytes in padded standard base64. */
  readonly publicKey: string
  /** Where the former key is kept: `<path>.previous`. If the rotation was a mistake, the owner can contest it within 72 hours. */
  readonly previousFile: string
}

/**
 * Replaces the key in a file by a new one, at the service first. The new key is durable in `<path>.next` before anything is sent. If
 * the process or the response is lost on the way, call it again: it continues with that key.
 * @param options `did` is the agent's DID. Default: the one that the service has for the key
 * @throws CountersignError as `Agent.rotateKey`; NO_KEY, UNUSABLE_KEY
 */
export async function rotateKeyFile(
  options: KeyFileOperation & { readonly did?: string | undefined },
): Promise<RotatedKeyFile> {
  const { registry, path, onExposed } = options
  const did = options.did ?? (await didOfKeyFile(options))
  const current = await keyFromFile(path, onExposed && { onExposed })
  const next = await nextKey(options)
  const rotated = await new Agent({ registry, signer: current, did }).rotateKey(next)
  const previousFile = await adoptKeyFile(nextFileOf(path), path)
  return { ...rotated, publicKey: encodeBase64(next.publicKey), previousFile }
}

/** A redeemed recovery token, and the file with the new key. */
export interface RecoveringKeyFile extends Recovering {
  /** The new key: 32 bytes in padded standard base64. */
  readonly publicKey: string
  /** `<path>` if the new key is the current one of the agent, else `<path>.next`. */
  readonly keyFile: string
}

/**
 * Redeems a recovery token with a new key, which is durable in `<path>.next` before anything is sent. Call it again to continue
 * after a lost response, or once the key is the current one: it then moves the key to `<path>`.
 * @param options `did` is the agent's DID; `token` is the recovery token, which is not needed once the key is the current one
 * @throws CountersignError as `Agent.recover`; INVALID_ARGUMENT if there is no token and the key is not the current one
 */
export async function recoverKeyFile(
  options: KeyFileOperation & { readonly did: string; readonly token?: string | undefined },
): Promise<RecoveringKeyFile> {
  const { registry, path, did, token } = options
  const next = await nextKey(options)
  const publicKey = encodeBase64(next.publicKey)
  const recovering = token === undefined ? null : await redeem(registry, next, did, token)
  const agent = await registry.agent(did, { fresh: true })
  if (agent.publicKey === publicKey) {
    await adoptKeyFile(nextFileOf(path), path)
    const { keySequence, keyChangedAt: effectiveAt } = agent
    return { did: agent.did, keySequence, effectiveAt, publicKey, keyFile: path }
  }
  if (recovering !== null) return { ...recovering, publicKey, keyFile: nextFileOf(path) }
  throw new CountersignError(
    'INVALID_ARGUMENT',
    `The key in ${nextFileOf(path)} is not the key of ${agent.did} yet. Name the recovery token to redeem it, or wait until it takes effect.`,
  )
}

function redeem(registry: Registry, signer: Signer, did: string, token: string) {
  return new Agent({ registry, signer, did }).recover(token)
}

function nextFileOf(path: string): string {
  return `${path}.next`
}

/** The key of an attempt that was not completed, or a new one. */
async function nextKey({ path, onExposed }: KeyFileOperation): Promise<Signer> {
  return keyFromFile(nextFileOf(path), { create: true, ...(onExposed && { onExposed }) })
}

/**
 * The DID of the key in a file or, if an interrupted rotation has replaced that key, of the one in `<path>.next`.
 * @throws CountersignError NOT_FOUND if neither has a certificate; NO_KEY, UNUSABLE_KEY
 */
export async function didOfKeyFile({
  registry,
  path,
  onExposed,
}: KeyFileOperation): Promise<string> {
  const options = onExposed && { onExposed }
  const didOf = async (file: string) => {
    const { publicKey } = await keyFromFile(file, options)
    return (await registry.agent(encodeBase64(publicKey), { fresh: true })).did
  }
  try {
    return await didOf(path)
  } catch (error) {
    if (!(error instanceof CountersignError && error.code === 'NOT_FOUND')) throw error
    const next = await didOf(nextFileOf(path)).catch(() => null)
    if (next === null) throw error
    return next
  }
}
