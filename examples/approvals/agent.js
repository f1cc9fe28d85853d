import { Agent, Registry } from '@countersign/sdk'
import { keyFromFile } from '@countersign/sdk/node'

const {
  SERVICE = 'http://localhost:8080',
  SHOP = 'http://localhost:3000',
  CLAIM_TOKEN,
} = process.env

const agent = new Agent({
  registry: await Registry.discover(SERVICE),
  signer: await keyFromFile('agent.pem', { create: true }),
  audiences: [SHOP],
})
if (CLAIM_TOKEN) await agent.claim(CLAIM_TOKEN) // the same at each start
console.log(`${(await agent.whoami()).did} goes shopping`)

await buy({ item: 'pencils', total: '4.90' })
await buy({ item: 'paper', total: '129.00' })

// The body has all that a person needs to see before they agree.
async function buy(order) {
  const response = await agent.fetch(`${SHOP}/checkout`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...order, currency: 'EUR', to: 'Example GmbH' }),
    // Only if the shop requires an approval.
    approval: {
      message: 'Printer paper, as every month',
      onPending: ({ approveUrl }) => console.log(`waiting for the owner: ${approveUrl}`),
    },
  })
  console.log(`${order.item}: ${response.status} ${await response.text()}`)
}
