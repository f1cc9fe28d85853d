import { didOfKeyFile, type RotatedKeyFile, rotateKeyFile } from '@countersign/sdk/node'
import { assertDid } from './did.ts'
import type { Invocation } from './invocation.ts'

/**
 * Replaces the agent's own key, at the service and in the key file.
 * @param did for a key that has several; none: the one that the service has for the key
 * @throws Failure USAGE, NO_KEY; CountersignError of `rotateKeyFile`
 */
export async function rotateOwnKey(
  cli: Invocation,
  did: string | undefined,
): Promise<RotatedKeyFile> {
  const { keyFile: path, onExposed } = cli
  const own = did ?? (await didOfKeyFile({ registry: cli.registry(), path, onExposed }))
  const registry = cli.registry(assertDid(own))
  return rotateKeyFile({ registry, path, did: own, onExposed })
}
