import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Tail } from '@countersign/protocol'
import { initialProfile } from '../packages/server/src/agents/agent-record.ts'
import { AgentIndex } from '../packages/server/src/agents/read-model/agent-index.ts'

// node key-memory.ts: what replaced keys take of the memory of the read model. Prints `RESULT {agents, replaced}`.
const AGENTS = 100_000
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

function bytesInUse(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function randomTail(): Tail {
  const letters = [...randomBytes(24)].map((byte) => ALPHABET[byte % ALPHABET.length])
  return letters.join('') as Tail
}

const tails = Array.from({ length: AGENTS }, randomTail)
const index = new AgentIndex(AGENTS, randomBytes)
index.reserve(AGENTS)
function put(sequence: number): void {
  for (const [i, tail] of tails.entries()) {
    const claimedAt = 1_700_000_000_000 + i
    const at = claimedAt + sequence
    const first = initialProfile(claimedAt)
    index.upsert({
      tail,
      publicKey: randomBytes(32),
      ownerId: 1 + (i % 1000),
      seq: i + 1,
      claimedAt,
      version: sequence * AGENTS + i,
      status: 'active',
      profile:
        sequence === 1
          ? first
          : { ...first, keySequence: sequence, keyChangedAt: at, updatedAt: at },
    })
  }
}
// Slots and hash tables have their size from the start: what differs is the heap.
put(1)
const claimed = bytesInUse()
put(2)
const replaced = (bytesInUse() - claimed) / AGENTS
console.log(`RESULT ${JSON.stringify({ agents: index.size, replaced })}`)
