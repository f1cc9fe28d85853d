import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { DelegatedAgent, newKey, Registry } from '@countersign/sdk'

const { SERVICE = 'http://localhost:8080', SHOP = 'http://localhost:3000' } = process.env
const [, , path] = process.argv
process.once('disconnect', () => process.exit())

// The private key never leaves this process. Nobody has to register it.
const signer = await newKey()
const publicKey = Buffer.from(signer.publicKey).toString('base64')
let chains = 0

// Called before the first request, before the chain expires, and once after a 401.
async function chain() {
  process.send({ publicKey })
  const [message] = await once(process, 'message')
  if (message.error) throw new Error(message.error)
  chains += 1
  return message.chain
}

const { naming } = await Registry.discover(SERVICE)
const worker = new DelegatedAgent({ chain, signer, naming })

for (;;) {
  const response = await worker.fetch(SHOP + path).catch((error) => error)
  if (response instanceof Error) {
    process.send({ failed: response.message }, () => process.exit())
    break
  }
  if (response.ok) process.send({ chains })
  await setTimeout(1000)
}
