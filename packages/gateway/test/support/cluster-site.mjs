import cluster from 'node:cluster'
import { gateway } from '@countersign/gateway/express'
import express from 'express'

// A site in two processes of node:cluster. The primary prints the port; each answer says how the replay check went.

const [service] = process.argv.slice(2)

if (cluster.isPrimary) {
  let listening = 0
  for (const _ of [1, 2]) {
    cluster.fork().on('listening', ({ port }) => {
      listening += 1
      if (listening === 2) console.log(port)
    })
  }
} else {
  const app = express()
  const policy = { requireProof: true }
  app.use(gateway({ service, audiences: ['https://shop.example'], tlsTerminated: true, policy }))
  app.use((request, response) => response.send(request.agent.signature.replay))
  app.listen(0, '127.0.0.1')
}
