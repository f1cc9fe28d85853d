import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, Registry } from '@countersign/sdk'
import { keyFromFile } from '@countersign/sdk/node'

const {
  SERVICE = 'http://localhost:8080',
  SHOP = 'http://localhost:3000',
  CLAIM_TOKEN,
} = process.env
const PATHS = ['/prices', '/stock', '/reviews', '/images', '/orders']

// The identity of the agent. No worker sees this key.
const agent = new Agent({
  registry: await Registry.discover(SERVICE),
  signer: await keyFromFile('agent.pem', { create: true }),
})
if (CLAIM_TOKEN) await agent.claim(CLAIM_TOKEN) // the same at each start
const { did } = await agent.whoami()
console.log(`${did} starts ${PATHS.length} workers`)

const isStopped = new Set()
const workers = PATHS.map(startWorker)
await Promise.all(workers.map((each) => once(each, 'answered')))

// Stop one of them: end everything that was delegated. The others get a new chain when the shop refuses the old one.
const next = [
  once(workers[2], 'stopped'),
  ...workers.toSpliced(2, 1).map((each) => once(each, 'answered')),
]
isStopped.add(PATHS[2])
console.log(`${PATHS[2]} is stopped`)
await agent.endDelegations()
await Promise.all(next)
for (const each of workers) each.kill()

function startWorker(path) {
  const worker = fork(new URL('worker.js', import.meta.url), [path])
  let known = 0
  worker.on('message', async ({ publicKey, chains, failed }) => {
    if (publicKey) worker.send(await delegate(path, publicKey))
    if (failed && !isStopped.has(path)) throw new Error(`${path} ${failed}`)
    if (failed) {
      console.log(`${path} got no new chain: ${failed}`)
      worker.emit('stopped')
    }
    if (chains > known) {
      console.log(`${path} answered 200${known > 0 ? ', with a new chain' : ''}`)
      known = chains
      worker.emit('answered')
    }
  })
  return worker
}

// One path of one shop, to read, for ten minutes.
async function delegate(path, publicKey) {
  if (isStopped.has(path)) return { error: 'the orchestrator has stopped this worker' }
  const limits = { origins: [SHOP], methods: ['GET'], paths: [path], expiresInSeconds: 600 }
  return agent.delegate({ publicKey, ...limits }).catch(({ message }) => ({ error: message }))
}
