import { SITE_PAGES } from './sdk-tasks-of-sites.ts'

/** A page of the SDK reference: `docs/sdk-<name>.md`. */
export interface SdkPage {
  readonly name: string
  readonly tasks: readonly SdkTask[]
}

/** A task of the SDK reference. */
interface SdkTask {
  readonly title: string
  readonly intro: string
  /** Functions, classes, members such as `Agent.claim`, and types. Members not listed anywhere follow their class. */
  readonly names: readonly string[]
}

/** The SDK reference in reading order. The last page also has the types that are in no task. */
export const SDK_PAGES: readonly SdkPage[] = [
  {
    name: 'agents',
    tasks: [
      {
        title: 'Create an agent',
        intro: 'An `Agent` has a key and a `Registry`, the client of one service.',
        names: ['Agent', 'Agent: constructor', 'Agent.publicKey', 'Agent.did', 'AgentOptions'],
      },
      {
        title: 'Keys',
        intro: 'Create a key, or read one from a file, an environment variable, PEM or a JWK.',
        names: [
          'newKey',
          'keyFromFile',
          'keyFromEnvironment',
          'defaultKeyFile',
          'writeKeyFile',
          'keyFromPem',
          'keyFromJwk',
          'keyFromText',
          'Agent.useKey',
          'Signer',
          'NewKey',
          'PrivateJwk',
          'KeyFileOptions',
          'WriteKeyFileOptions',
        ],
      },
      {
        title: 'Claim and renounce a certificate',
        intro: 'Redeem a claim token, see your certificate, publish your keys, or leave an owner.',
        names: [
          'Agent.claim',
          'Agent.whoami',
          'Agent.renounce',
          'Agent.proveDirectory',
          'Registry.redeem',
          'Registry.renounce',
          'Registry.proveDirectory',
          'Claimed',
          'ClaimRequest',
          'Renounced',
          'RenounceRequest',
          'DirectoryProof',
          'DirectoryProofRequest',
        ],
      },
      {
        title: 'Enrol a workload',
        intro:
          'Get an identity by the token of your platform, without a stored secret, and keep it while the workload runs.',
        names: [
          'enrol',
          'keepEnrolled',
          'githubActionsToken',
          'gcpToken',
          'tokenFile',
          'EnrolOptions',
          'Enrolment',
          'EnrolmentEnded',
          'KeepEnrolledOptions',
          'PlatformTokenSource',
        ],
      },
      {
        title: 'Prove a runtime',
        intro: 'Renew the proof of a runtime channel.',
        names: [
          'Registry.runtimeChallenge',
          'Registry.proveRuntime',
          'RuntimeChallenge',
          'RuntimeProof',
        ],
      },
    ],
  },
  {
    name: 'keys',
    tasks: [
      {
        title: 'Change or recover a key',
        intro: 'The DID stays when its key changes. Keep the new key before you send the request.',
        names: [
          'rotateKeyFile',
          'recoverKeyFile',
          'didOfKeyFile',
          'Agent.rotateKey',
          'Agent.recover',
          'Agent.vetoRecovery',
          'Agent.reportKey',
          'Agent.keys',
          'Registry.rotateKey',
          'Registry.recover',
          'Registry.vetoRecovery',
          'Registry.reportKey',
          'Registry.keys',
          'Rotated',
          'RotateRequest',
          'Recovering',
          'RecoverRequest',
          'Vetoed',
          'VetoRequest',
          'KeyReport',
          'AgentKeys',
        ],
      },
    ],
  },
  {
    name: 'requests',
    tasks: [
      {
        title: 'Sign requests',
        intro: 'Prove possession of the key in each request.',
        names: [
          'Agent.fetch',
          'Agent.sign',
          'Agent.identification',
          'AudienceOptions',
          'SignatureAgentDialect',
        ],
      },
      {
        title: 'Ask the owner for an approval',
        intro: 'Let the owner approve one request with a passkey ([approvals](approvals.md)).',
        names: [
          'Agent.requestApproval',
          'AgentRequestInit',
          'DelegateRequestInit',
          'ApprovalOptions',
          'PendingApproval',
        ],
      },
      {
        title: 'Sign in and answer challenges',
        intro: 'Answer the challenge of a site, or get a session.',
        names: [
          'Agent.signIn',
          'Agent.answer',
          'Agent.answerUnbound',
          'AgentAnswer',
          'AgentSession',
        ],
      },
      {
        title: 'Get an OAuth access token',
        intro: 'Get a grant, and redeem it at an authorization server ([OAuth](oauth.md)).',
        names: ['Agent.grant', 'GrantRequest', 'Grant'],
      },
    ],
  },
  {
    name: 'lookups',
    tasks: [
      {
        title: 'Connect to a service',
        intro:
          'A `Registry` reads the names of its service, caches lookups and follows redirects safely.',
        names: [
          'Registry',
          'Registry: constructor',
          'Registry.discover',
          'Registry.service',
          'Registry.naming',
          'discoverNaming',
          'RegistryOptions',
          'NamingOptions',
          'Names',
          'CallOptions',
        ],
      },
      {
        title: 'Look up agents',
        intro: 'Read certificates, cards and DID documents. Base decisions on `Registry.lookup`.',
        names: [
          'Registry.lookup',
          'Registry.agent',
          'Registry.card',
          'Registry.compactCard',
          'Registry.resolve',
          'Registry.originOf',
          'Registry.rawOf',
          'identifiedDid',
          'Lookup',
          'AgentObject',
          'AgentStatus',
          'Assurance',
          'Card',
          'CompactCard',
          'DidDocument',
          'Resolution',
          'AnswerOrigin',
        ],
      },
      {
        title: 'Grades',
        intro: 'Read the grade of an agent with its evidence, and compute it yourself.',
        names: [
          'Registry.grade',
          'recomputeGrade',
          'Grade',
          'GradeReport',
          'RecomputedGrade',
          'Tier',
        ],
      },
    ],
  },
  {
    name: 'delegation',
    tasks: [
      {
        title: 'Delegate to workers',
        intro:
          'Give a worker rights for a short time, act as one, and end them ([delegation](delegation.md)).',
        names: [
          'Agent.delegate',
          'Agent.endDelegations',
          'DelegationGroups',
          'DelegatedAgent',
          'DelegatedAgent: constructor',
          'Registry.endDelegations',
          'DelegateRequest',
          'SignedDelegation',
          'DelegatedAgentOptions',
          'DelegationsEnded',
          'DelegationGroup',
          'DelegationGroupEnded',
          'EndDelegationsRequest',
        ],
      },
    ],
  },
  ...SITE_PAGES,
  {
    name: 'errors',
    tasks: [
      {
        title: 'Errors',
        intro: 'The SDK throws only `CountersignError`. Switch on `code`.',
        names: [
          'CountersignError',
          'CountersignErrorCode',
          'CountersignErrorDetails',
          'LocalErrorCode',
          'ServiceErrorCode',
        ],
      },
    ],
  },
]
