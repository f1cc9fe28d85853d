import { z } from 'zod'
import { describeCertificate } from '../../certificate.ts'
import { fields } from '../../output.ts'
import { ownCertificate } from '../../own-certificate.ts'
import { certificateFacts, certificateShape } from '../certificate-facts.ts'
import { argumentsOf, defineTool, READS } from '../tool.ts'

/** What the service says of one's own key. */
export const whoami = defineTool({
  name: 'whoami',
  title: 'Who am I',
  description: `Your own DID, public key and certificate, as the service has them now. Use it before you tell others who you are, and after a claim whose outcome is unknown.
Fails with NO_KEY or NOT_FOUND while you have no certificate. Changes nothing and never returns the private key.`,
  annotations: READS,
  input: argumentsOf({}),
  output: z.strictObject({ ...certificateShape, publicKey: z.string(), service: z.string() }),
  async run(_args, { service, ownKey }) {
    const { publicKey } = ownKey()
    const lookup = await ownCertificate(service, publicKey)
    const { id, status } = lookup.certificate
    const rows = [...describeCertificate(service, lookup), ['Public key', publicKey] as const]
    return {
      data: { ...certificateFacts(service, lookup), publicKey, service: service.origin },
      text: `You are ${id} (${status}).\n${fields(rows)}`,
    }
  },
})
