import type { Command } from 'commander'
import type { Env } from '../../base/config.ts'
import { acceptPepperCommand, acceptServiceKeyCommand } from './accept-secret.ts'
import { agentCommands } from './agent.ts'
import { reportCommands } from './agent-reports.ts'
import { backupCommands } from './backup.ts'
import { beginEpochCommand } from './begin-epoch.ts'
import { changeBaseUrlCommand } from './change-base-url.ts'
import { doctorCommand } from './doctor.ts'
import { enrolmentCommands } from './enrolment.ts'
import { importCommand } from './import.ts'
import { issuerKeyCommands } from './issuer-key.ts'
import { logCommands } from './log.ts'
import { keyArchiveCommands } from './move-keys.ts'
import { organisationCommands } from './organisation.ts'
import { ownerCommands, signInLinkCommand, tokenCommands } from './owner.ts'
import { providerCommands } from './provider-commands.ts'
import { webhookCommands } from './webhook.ts'
import { witnessCommands } from './witness-commands.ts'

/** Adds every command but `serve`, in the order of the help. */
export function addCommands(program: Command, env: Env): void {
  ownerCommands(program, env)
  signInLinkCommand(program, env)
  organisationCommands(program, env)
  enrolmentCommands(program, env)
  reportCommands(program, env)
  providerCommands(program, env)
  tokenCommands(program, env)
  agentCommands(program, env)
  webhookCommands(program, env)
  backupCommands(program, env)
  importCommand(program, env)
  logCommands(program, env)
  witnessCommands(program, env)
  acceptPepperCommand(program, env)
  acceptServiceKeyCommand(program, env)
  beginEpochCommand(program, env)
  issuerKeyCommands(program, env)
  keyArchiveCommands(program, env)
  changeBaseUrlCommand(program, env)
  doctorCommand(program, env)
}
