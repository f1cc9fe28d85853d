import { regradeOwner } from '../agents/changes/regrade-owner.ts'
import { tokensOfEndedMember } from '../agents/claims/issue-token.ts'
import { enrolmentOfChangedAgent } from '../agents/enrolment/end-enrolment.ts'
import { rulesOfEndedMember } from '../agents/enrolment/rules.ts'
import { recoveriesOfEndedMember, recoveryOfChangedAgent } from '../agents/keys/end-recovery.ts'
import { renouncingOfChangedAgent } from '../agents/keys/renounce.ts'
import { agentsOfEndedMember } from '../agents/responsible/missing-responsible.ts'
import { transfersOfFormerAdmin } from '../agents/transfers/end-transfer.ts'
import { channelsOfChangedAgent } from '../channels/channel-lifecycle.ts'
import type { Effects } from '../database/database.ts'
import { openingsOfMovedAgent } from '../log/openings-of-moved-agent.ts'
import { grantsOfMovedAgent, issuersOfEndedMember } from '../statements/grants/manage-issuers.ts'
import { endpointsOfEndedMember } from '../webhooks/disable.ts'
import { managedAccountOfEndedMembership } from './privacy/delete-account.ts'

/** The only list of what follows from a change in other rooms, in this order. */
export const EFFECTS: Effects = {
  agentChanged: [
    channelsOfChangedAgent,
    renouncingOfChangedAgent,
    recoveryOfChangedAgent,
    openingsOfMovedAgent,
    grantsOfMovedAgent,
    enrolmentOfChangedAgent,
  ],
  verificationsChanged: [regradeOwner],
  membershipEnded: [
    tokensOfEndedMember,
    recoveriesOfEndedMember,
    transfersOfFormerAdmin,
    agentsOfEndedMember,
    endpointsOfEndedMember,
    issuersOfEndedMember,
    rulesOfEndedMember,
    managedAccountOfEndedMembership,
  ],
}
