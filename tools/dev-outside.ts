import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { startDnsServer } from '../test/support/dns-server.ts'
import { authorityFile, outsideEnv, startHttpsSite } from '../test/support/https-site.ts'

// npx node tools/dev-outside.ts <domain> <directory>: simulates a domain on this machine, for docs/channels.md. Runs
// a DNS and an https server until it is stopped, and prints the settings that make a service use them.
const [domain, directory] = process.argv.slice(2)
if (domain === undefined || directory === undefined) {
  console.error('usage: npx node tools/dev-outside.ts <domain> <directory>')
  process.exit(2)
}
const ends: (() => unknown)[] = []
const cleanup = { after: (end: () => unknown) => void ends.push(end) }
const site = await startHttpsSite(cleanup, [domain])
const published = [`${process.env.SHORT_NAME || 'svc'}-challenge.txt`, 'agent-card.json']
for (const name of published.map((each) => `/.well-known/${each}`)) {
  site.serve(name, (_request, response) => {
    try {
      response.end(readFileSync(join(resolve(directory), name)))
    } catch {
      response.writeHead(404).end('Not found')
    }
  })
}
const dns = await startDnsServer(cleanup)
const settings = { ...outsideEnv([dns], [site]), NODE_EXTRA_CA_CERTS: await authorityFile() }
for (const [name, value] of Object.entries(settings)) console.log(`${name}=${value}`)
const stop = () => {
  for (const end of ends) end()
  process.exit()
}
process.once('SIGINT', stop).once('SIGTERM', stop)
