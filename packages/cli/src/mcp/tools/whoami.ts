import { encodeBase64 } from '@countersign/protocol'
import { z } from 'zod'
import { certificateRows, ownCertificate } from '../../certificate.ts'
import { fields } from '../../output.ts'
import { certificateResult, certificateSchema } from '../certificate-result.ts'
import { argumentsOf, defineTool, READS } from '../tool.ts'

/** The certificate of the agent's own key (contract 4.2). */
export const whoami = defineTool({
  name: 'whoami',
  title: 'Who am I',
  description: `Your own DID, public key and certificate, as the service currently returns them. Use it before you identify yourself to others, and after a claim whose outcome is unknown.
Fails with NO_KEY or NOT_FOUND if you have no certificate. Changes nothing and never returns the private key.`,
  annotations: READS,
  input: argumentsOf({}),
  output: z.strictObject({ ...certificateSchema, publicKey: z.string(), service: z.string() }),
  async run(_args, { cli, service }) {
    const publicKey = encodeBase64((await cli.ownKey()).publicKey)
    const lookup = await ownCertificate(cli.registry(), publicKey, cli.command)
    const { id, status } = lookup.certificate
    const rows = [...certificateRows(service, lookup), ['Public key', publicKey] as const]
    return {
      data: { ...certificateResult(service, lookup), publicKey, service: service.origin },
      text: `You are ${id} (${status}).\n${fields(rows)}`,
    }
  },
})
