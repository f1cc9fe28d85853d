import { encodeBase64, RECOVERY_REASONS } from '@countersign/protocol'
import { z } from 'zod'
import { certificateResult, certificateSchema } from '../certificate-result.ts'
import { certificateRows, ownCertificate, recoveryRows } from '../certificate-rows.ts'
import { argumentsOf, defineTool, READS } from '../define-tool.ts'
import { fields } from '../fields.ts'

/** The certificate of the agent's own key (contract 4.2). */
export const whoami = defineTool({
  name: 'whoami',
  title: 'Who am I',
  description: `Your own DID, public key and certificate, as the service currently returns them. Use it before you identify yourself to others, and after a claim whose outcome is unknown.
Fails with NO_KEY or NOT_FOUND if you have no certificate. Changes nothing and never returns the private key.`,
  annotations: READS,
  input: argumentsOf({}),
  output: z.strictObject({
    ...certificateSchema,
    publicKey: z.string(),
    keySequence: z.number().describe('How many keys this DID has had, with this one'),
    keyChangedAt: z.string(),
    recovery: z
      .strictObject({
        reason: z.enum(RECOVERY_REASONS),
        startedAt: z.string(),
        redeemedAt: z.string().nullable(),
        effectiveAt: z.string().nullable().describe('When another key replaces yours'),
        keyThumbprint: z.string().nullable(),
      })
      .nullable()
      .describe(
        'A recovery by your owner that will replace your key. Tell the person you work for',
      ),
    service: z.string(),
  }),
  async run(_args, host) {
    const publicKey = encodeBase64((await host.signer()).publicKey)
    const lookup = await ownCertificate(host.registry(), publicKey, host.command)
    const { id, status } = lookup.certificate
    const { keySequence, keyChangedAt, recovery } = await host.registry().keys(id)
    const rows = [
      ...certificateRows(host.service, lookup),
      ['Public key', publicKey] as const,
      ...recoveryRows(recovery, `${host.command} veto ${id}`),
    ]
    const key = { publicKey, keySequence, keyChangedAt, recovery: recovery && { ...recovery } }
    return {
      data: { ...certificateResult(host.service, lookup), ...key, service: host.service.origin },
      text: `You are ${id} (${status}).\n${fields(rows)}`,
    }
  },
})
