import type { PanelPlan } from './panel-plan.ts'
import { INTERNALS } from './panels-internals.ts'
import { SYMPTOMS } from './panels-symptoms.ts'

/** The width of Grafana's grid. */
const WIDTH = 24
const GRAPH = { w: 8, h: 8 }
const STAT = { w: 4, h: 4 }

const DATASOURCE = { type: 'prometheus', uid: `\${DS_PROMETHEUS}` }
const NODES = 'job="$job",instance=~"$instance"'

interface Place {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
}

/** Generates `deploy/grafana/countersign.json`, which asks for the Prometheus data source when it is imported. */
export function dashboardJson(): string {
  return `${JSON.stringify(dashboard(), null, 2)}\n`
}

function dashboard() {
  return {
    __inputs: [
      {
        name: 'DS_PROMETHEUS',
        label: 'Prometheus',
        description: 'The Prometheus that reads /metrics of Countersign',
        type: 'datasource',
        pluginId: 'prometheus',
        pluginName: 'Prometheus',
      },
    ],
    __requires: [
      { type: 'grafana', id: 'grafana', name: 'Grafana', version: '9.0.0' },
      { type: 'datasource', id: 'prometheus', name: 'Prometheus', version: '1.0.0' },
      { type: 'panel', id: 'timeseries', name: 'Time series', version: '' },
      { type: 'panel', id: 'stat', name: 'Stat', version: '' },
    ],
    uid: 'countersign',
    title: 'Countersign',
    tags: ['countersign'],
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    schemaVersion: 36,
    version: 1,
    time: { from: 'now-3h', to: 'now' },
    timezone: 'browser',
    templating: {
      list: [
        variable('job', 'Job', 'label_values(countersign_build_info, job)', false),
        variable(
          'instance',
          'Node',
          'label_values(countersign_build_info{job="$job"}, instance)',
          true,
        ),
      ],
    },
    panels: panels(),
  }
}

function variable(name: string, label: string, query: string, all: boolean) {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    sort: 1,
    multi: all,
    includeAll: all,
    ...(all ? { allValue: '.*', current: { selected: true, text: 'All', value: '$__all' } } : {}),
  }
}

function panels(): unknown[] {
  const made: unknown[] = []
  let y = 0
  for (const { title, panels } of [...SYMPTOMS, ...INTERNALS]) {
    made.push({
      id: made.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: WIDTH, h: 1 },
      panels: [],
    })
    y += 1
    let x = 0
    let h = 0
    for (const plan of panels) {
      const size = plan.stat === true ? STAT : GRAPH
      if (x + size.w > WIDTH) {
        x = 0
        y += h
      }
      made.push(panel(made.length + 1, plan, { x, y, ...size }))
      x += size.w
      h = size.h
    }
    y += h
  }
  return made
}

function panel(id: number, { title, unit, queries, stat, description }: PanelPlan, gridPos: Place) {
  return {
    id,
    type: stat === true ? 'stat' : 'timeseries',
    title,
    ...(description === undefined ? {} : { description }),
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, ...(stat === true ? {} : { min: 0 }) }, overrides: [] },
    options:
      stat === true
        ? { reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false }, textMode: 'auto' }
        : {
            legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
            tooltip: { mode: 'multi', sort: 'desc' },
          },
    targets: queries.map(([legend, query], i) => ({
      refId: String.fromCharCode(65 + i),
      datasource: DATASOURCE,
      expr: query.replaceAll('$I', NODES).replaceAll('$R', '$__rate_interval'),
      legendFormat: legend,
    })),
  }
}
