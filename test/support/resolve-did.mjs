// Resolves a DID with the stock resolver, in a process of its own, which trusts the front's certificate.
import { Resolver } from 'did-resolver'
import { getResolver } from 'web-did-resolver'

const result = await new Resolver(getResolver()).resolve(process.argv[2])
process.stdout.write(JSON.stringify(result))
