import type { Lookup } from '@countersign/protocol'
import { lookUp } from './endpoints.ts'
import { ServiceRefusal } from './failure.ts'
import { parseReference } from './reference.ts'

/**
 * The certificate that speaks for one's own key.
 * @throws ServiceRefusal NOT_FOUND where it has none, in words that say what to do; and what `lookUp` throws
 */
export async function ownCertificate(service: URL, publicKey: string): Promise<Lookup> {
  try {
    return await lookUp(service, parseReference(publicKey))
  } catch (error) {
    throw explain(error, publicKey, service)
  }
}

function explain(error: unknown, publicKey: string, service: URL): unknown {
  if (!(error instanceof ServiceRefusal) || error.code !== 'NOT_FOUND') return error
  const { code, requestId } = error
  const message = `Your key ${publicKey} has no certificate at ${service.origin}. Have the agent's owner issue a claim token, then: countersign claim <token>`
  return new ServiceRefusal({ code, message, requestId })
}
