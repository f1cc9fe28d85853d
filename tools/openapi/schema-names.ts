/**
 * Names by meaning, for schemas that would be named after one of the operations that share them, or after the field that holds
 * them. By the name that they would have.
 */
export const SCHEMA_NAMES: Readonly<Record<string, string>> = {
  ChallengeRuntimeRequest: 'EmptyRequest',
  RenounceRequest: 'SignedKeyStatement',
  SuspendAgentRequest: 'StatusReason',
  DidJsonDidDocument: 'DidDocument',
  AgentDidDocument: 'ContractDidDocument',
  GrantIssuerConfiguration: 'GrantIssuerMetadata',
  SignUpOptionsRequest: 'NewOwner',
  SignUpOptions: 'PasskeyOptions',
  SignUpRequest: 'PasskeyCredential',
  SignUp: 'SignedUp',
  SignInWithPasskey: 'SignedIn',
  BeginProviderSignInRequest: 'ProviderChoice',
  BeginProviderSignIn: 'ProviderRedirect',
  NamePasskeyRequest: 'NewName',
  CreateWebhook: 'WebhookWithSecret',
  TestWebhook: 'WebhookDelivery',
  DeleteAccount: 'RevokedAgents',
  OwnerAgentsAgent: 'OwnAgent',
  StartRecovery: 'IssuedRecoveryToken',
  VerifyRequest5: 'RequestVerdict',
  VerifyRequestRequest: 'RequestToVerify',
  EmailAddresse: 'EmailAddress',
  Check: 'ChannelCheck',
  Opening: 'LogOpening',
  Service: 'DidService',
  Renouncing: 'KeyRenouncing',
  EndDelegationGroup: 'DelegationGroupEnded',
  CreateOrganisation: 'OrganisationRole',
}
