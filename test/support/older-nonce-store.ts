import { memoryNonceStore } from '@countersign/sdk'

/** A nonce store that is older than every request of a test, or it could not tell whether one was sent before it started. */
export function olderNonceStore() {
  let now = () => Date.now() - 3_600_000
  const store = memoryNonceStore(undefined, () => now())
  now = Date.now
  return store
}
