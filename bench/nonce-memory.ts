import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { encodeBase64Url } from '@countersign/protocol'
import { memoryNonceStore } from '@countersign/sdk'

// node nonce-memory.ts: what a full nonce store takes of the heap. Prints `RESULT {entries, bytes}`.
const ENTRIES = 200_000
/** One key takes at most a sixteenth. */
const KEYS = 20

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
// As the verifier makes them.
const hashOf = (text: string) =>
  encodeBase64Url(new Uint8Array(createHash('sha256').update(text).digest()))

const keys = Array.from({ length: KEYS }, (_, i) => hashOf(`key ${i}`))
const store = memoryNonceStore(ENTRIES)
collectGarbage()
const before = process.memoryUsage().heapUsed
// Later than what a store that has just started does not know.
const createdAt = Date.now() + 60_000
let entries = 0
for (let i = 0; i < ENTRIES; i++) {
  // Each as a request of its own: texts that share no memory, spread over the lifetime of a signature.
  const expiresAt = createdAt + 90_000 + Math.floor((i * 60) / ENTRIES) * 1000
  const nonce = {
    keyid: keys[i % KEYS] as string,
    nonce: hashOf(`nonce ${i}`),
    hash: hashOf(`${i}`),
    createdAt,
    expiresAt,
  }
  if ((await store.record(nonce)) === 'fresh') entries += 1
}
collectGarbage()
const bytes = process.memoryUsage().heapUsed - before
// The store is in use until here.
await store.record({
  keyid: hashOf('last'),
  nonce: hashOf('last'),
  hash: hashOf('last'),
  createdAt,
  expiresAt: createdAt + 1000,
})
console.log(`RESULT ${JSON.stringify({ entries, bytes })}`)
