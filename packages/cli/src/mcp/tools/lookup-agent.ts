import { z } from 'zod'
import { certificateRows } from '../../certificate.ts'
import { assertReference } from '../../challenge.ts'
import { fields } from '../../output.ts'
import { certificateResult, certificateSchema } from '../certificate-result.ts'
import { agentReference, argumentsOf, defineTool, READS } from '../tool.ts'

/** Contract 4.1, 4.2. */
export const lookupAgent = defineTool({
  name: 'lookup_agent',
  title: 'Look up an agent',
  description: `Whether the certificate of another agent is good, and whether its owner has proved who they are. Use it when somebody names a DID or a public key.
It says what is known of that DID, not that you talk to its holder: anyone can name a DID. For that, use verify_agent. Fails with NOT_FOUND where there is no such agent. Changes nothing.`,
  annotations: READS,
  input: argumentsOf({ agent: agentReference() }),
  output: z.strictObject(certificateSchema),
  async run({ agent }, { cli, service }) {
    assertReference(agent)
    const lookup = await cli.registry().lookup(agent)
    const { id, status } = lookup.certificate
    return {
      data: certificateResult(service, lookup),
      text: `${id} is ${status}.\n${fields(certificateRows(service, lookup))}`,
    }
  },
})
