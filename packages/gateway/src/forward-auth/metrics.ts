import type { Decision } from '../decision/decision.ts'
import type { FeedFault } from '../options.ts'

const NAME = 'countersign_gateway'

/** Counters in the Prometheus text format. */
export class Metrics {
  readonly #decisions = new Map<string, number>()
  readonly #proofs = new Map<string, number>()
  readonly #delegated = new Map<string, number>()
  readonly #approvals = new Map<string, number>()
  readonly #signIns = new Map<number, number>()
  readonly #reloads = { loaded: 0, refused: 0 }
  readonly #feedFaults = new Map<FeedFault, number>()

  recordDecision(decision: Decision): void {
    const { action, mode, level, source, reasons, proof, signature, delegation, approval } =
      decision
    count(
      this.#decisions,
      `action="${action}",mode="${mode}",level="${level ?? ''}",source="${source ?? ''}"`,
    )
    const result = signature === null ? 'none' : (signature.reason ?? signature.verdict)
    const [{ code }] = reasons
    count(
      this.#proofs,
      `action="${action}",mode="${mode}",reason="${code}",proof="${proof}",signature="${result}"`,
    )
    if (delegation !== null) {
      count(this.#delegated, `action="${action}",depth="${delegation.depth}"`)
    }
    if (approval !== null) count(this.#approvals, 'result="admitted"')
    else if (code.startsWith('approval-')) {
      count(this.#approvals, `result="${code.slice('approval-'.length)}"`)
    }
  }

  recordSignIn(status: number): void {
    this.#signIns.set(status, (this.#signIns.get(status) ?? 0) + 1)
  }

  recordReload(result: 'loaded' | 'refused'): void {
    this.#reloads[result] += 1
  }

  recordFeedFault(fault: FeedFault): void {
    this.#feedFaults.set(fault, (this.#feedFaults.get(fault) ?? 0) + 1)
  }

  toString(): string {
    return [
      `# HELP ${NAME}_decisions_total Decisions by action, mode, level and source.`,
      `# TYPE ${NAME}_decisions_total counter`,
      ...[...this.#decisions].map(([labels, n]) => `${NAME}_decisions_total{${labels}} ${n}`),
      `# HELP ${NAME}_proofs_total Decisions by deciding reason, proof and signature result.`,
      `# TYPE ${NAME}_proofs_total counter`,
      ...[...this.#proofs].map(([labels, n]) => `${NAME}_proofs_total{${labels}} ${n}`),
      `# HELP ${NAME}_delegated_total Decisions about proven delegates of agents, by action and depth.`,
      `# TYPE ${NAME}_delegated_total counter`,
      ...[...this.#delegated].map(([labels, n]) => `${NAME}_delegated_total{${labels}} ${n}`),
      `# HELP ${NAME}_approvals_total Requests that needed an approval, by result.`,
      `# TYPE ${NAME}_approvals_total counter`,
      ...[...this.#approvals].map(([labels, n]) => `${NAME}_approvals_total{${labels}} ${n}`),
      `# HELP ${NAME}_sign_ins_total Requests to the sign-in endpoint, by status.`,
      `# TYPE ${NAME}_sign_ins_total counter`,
      ...[...this.#signIns].map(([status, n]) => `${NAME}_sign_ins_total{status="${status}"} ${n}`),
      `# HELP ${NAME}_reloads_total Reloads of the configuration file, by result.`,
      `# TYPE ${NAME}_reloads_total counter`,
      ...Object.entries(this.#reloads).map(
        ([result, n]) => `${NAME}_reloads_total{result="${result}"} ${n}`,
      ),
      `# HELP ${NAME}_feed_faults_total What the status feed of an issuer showed that the issuer would not send, by kind.`,
      `# TYPE ${NAME}_feed_faults_total counter`,
      ...[...this.#feedFaults].map(
        ([fault, n]) => `${NAME}_feed_faults_total{fault="${fault}"} ${n}`,
      ),
      '',
    ].join('\n')
  }
}

/** All labels have closed sets of values, so the number of counters is bounded. */
function count(counters: Map<string, number>, labels: string): void {
  counters.set(labels, (counters.get(labels) ?? 0) + 1)
}
