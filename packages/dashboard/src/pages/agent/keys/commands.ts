/** The data that the commands for a recovery contain. */
export interface RecoverData {
  readonly did: string
  readonly baseUrl: string
  /** The package of the command, as npx takes it. */
  readonly cliPackage: string
}

/** For the `countersign` CLI: makes a new key, stores it and redeems the recovery token with it. */
export function redeemCommand({ did, baseUrl, cliPackage }: RecoverData, token: string): string {
  return `npx -y ${cliPackage} recover \\
  ${did} \\
  ${token} \\
  --url ${baseUrl}`
}

/** Moves the new key into the key file, once it is the current one. */
export function completeCommand({ did, baseUrl, cliPackage }: RecoverData): string {
  return `npx -y ${cliPackage} recover \\
  ${did} \\
  --url ${baseUrl}`
}
