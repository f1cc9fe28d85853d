import { z } from 'zod'
import { describeCertificate } from '../../certificate.ts'
import { lookUp } from '../../endpoints.ts'
import { fields } from '../../output.ts'
import { parseReference } from '../../reference.ts'
import { certificateFacts, certificateShape } from '../certificate-facts.ts'
import { agentReference, argumentsOf, defineTool, READS } from '../tool.ts'

/** Contract 4.1, 4.2. */
export const lookupAgent = defineTool({
  name: 'lookup_agent',
  title: 'Look up an agent',
  description: `Whether the certificate of another agent is good, and whether its owner has proved who they are. Use it when somebody names a DID or a public key.
It says what is known of that DID, not that you talk to its holder: anyone can name a DID. For that, use verify_agent. Fails with NOT_FOUND where there is no such agent. Changes nothing.`,
  annotations: READS,
  input: argumentsOf({ agent: agentReference() }),
  output: z.strictObject(certificateShape),
  async run({ agent }, { service }) {
    const lookup = await lookUp(service, parseReference(agent))
    const { id, status } = lookup.certificate
    return {
      data: certificateFacts(service, lookup),
      text: `${id} is ${status}.\n${fields(describeCertificate(service, lookup))}`,
    }
  },
})
