import { createPrivateKey, sign } from 'node:crypto'
import { Agent, newKey, Registry } from '@countersign/sdk'
import { inTurns } from './in-turns.ts'
import type { Signing, SigningTask } from './measure-signing.ts'

// node signing.ts '{"turns":…}': what an agent takes to sign a request, beside one signature. Prints `RESULT {…}`.

const SHOP = 'https://shop.example'
/** As long as the signature base of such a request. */
const MESSAGE = Buffer.alloc(450, 97)

const { turns } = JSON.parse(process.argv[2] ?? '') as SigningTask
const signer = await newKey()
// It is never asked: a request without a certificate is signed without the service.
const registry = new Registry('https://id.example')
const agent = new Agent({ registry, signer, audiences: [SHOP], did: `svc:agent:${'z'.repeat(24)}` })
const key = createPrivateKey(signer.pem)
const result: Signing = await inTurns(
  {
    signature: { run: () => sign(null, MESSAGE, key) },
    request: { run: () => agent.sign(`${SHOP}/orders`) },
  },
  turns,
)
console.log(`RESULT ${JSON.stringify(result)}`)
