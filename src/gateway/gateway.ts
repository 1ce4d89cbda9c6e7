/** Gateway: composition root that wires all parts from a configuration. */

import { knownEntries } from '../catalog/updated.ts';
import { adminUrl, localUrl } from '../config/host.ts';
import type { AdminConfig, Config } from '../config/resolved.ts';
import { Cancellation } from '../core/cancellation.ts';
import { isLoopback } from '../core/loopback.ts';
import { requireWebSearch } from '../core/web-search.ts';
import { createApp } from '../http/app.ts';
import type { AppOptions } from '../http/app-options.ts';
import { bodyMemoryOf, createBodyBudget } from '../http/body-budget.ts';
import type { DispatchOptions } from '../inference/dispatch.ts';
import { inlineMedia, refusePrivateUrls } from '../inference/request/media.ts';
import { createStateMemory } from '../inference/state/memory.ts';
import { createClock } from '../jobs/clock.ts';
import { protocolOf, protocols } from '../protocols/index.ts';
import { createRoutingState } from '../routing/state.ts';
import { RESPONSE_JOB_KIND } from '../stored-responses/background.ts';
import { openTelemetry } from '../telemetry/telemetry.ts';
import { createDeadlineTimer } from '../transport/deadlines.ts';
import { createUpstreamClient, type UpstreamClient } from '../transport/upstream-client.ts';
import { openAccounting } from './accounting.ts';
import type { RunningAdmin } from './admin.ts';
import { openDashboard } from './dashboard.ts';
import { openSecrets } from './encryption.ts';
import { type EndpointSnapshots, startEndpointSnapshots } from './endpoint-snapshots.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { type ConfigParts, createOperationReadings } from './operation-readings.ts';
import { createProviderRegistry } from './provider-registry.ts';
import { needsRestart } from './restart-needs.ts';
import type { RunningGateway } from './running-gateway.ts';
import { createStateReadings } from './state-readings.ts';
import { openStoredResponses } from './stored-responses.ts';
import { createVideoTasks } from './video-tasks.ts';

/** Graceful shutdown: time for running task steps to finish. The next gateway continues the others. */
const TASK_GRACE_MS = 5000;

/** The memory for bodies is this many times that for conversations of WebSockets. */
const CONVERSATION_SHARE = 2;

export type { GatewayOptions } from './gateway-options.ts';
export type { RunningGateway } from './running-gateway.ts';

interface ReloadableParts extends ConfigParts {
  upstream: UpstreamClient;
}

export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  const { config, keys, store, log, version, clock = createClock(store), process } = options;
  const worker = process?.role === 'worker' ? process : undefined;
  const userAgent = `polygate/${version}`;
  const timer = createDeadlineTimer(clock);
  let parts = assemble(config);

  function assemble(next: Config): ReloadableParts {
    const upstream = createUpstreamClient(next.server.deadlines, timer);
    const context = { upstream, log, userAgent, routes: next.routing, clock, types: options.providerTypes };
    const models = createProviderRegistry(next.providers, { ...context, known: knownEntries(next.data) });
    return { config: next, upstream, models };
  }

  const draining = new Cancellation();
  const stopping = new Cancellation();
  const memory = createStateMemory();
  const secrets = await openSecrets({ config, store });
  const accounting = await openAccounting({
    store,
    log,
    config: () => parts.config,
    clock,
    journalDisk: options.journalDisk,
    ...process,
  });
  const telemetry = await openTelemetry({
    ...config.telemetry,
    version,
    log,
    clock,
    storeWritable: async () => (await store.health()).writable,
    usageWaiting: () => accounting.recorder.waiting,
    usageLost: () => accounting.recorder.lost,
    usageRefused: () => accounting.recorder.refused,
    readings: createStateReadings({
      models: () => parts.models,
      breaker: () => state.breaker,
      records: () => accounting.records,
      keys,
      subjects: (key) => accounting.admission.subjects(key),
      folder: config.data,
      budgetKeys: config.telemetry.budgetKeys,
      now: clock.now,
      isWorker: worker !== undefined,
    }),
  });
  const state = createRoutingState({
    cooldown: () => parts.config.routing.cooldown,
    now: clock.monotonic,
    onCooldown(circuit) {
      telemetry.metrics.events.endpointCooledDown(circuit.id);
      worker?.shareCooldown(circuit);
    },
  });
  const { host, port, prefixes, bodyLimit, trustedProxies, connectionsPerAddress } = config.server;
  const bodyMemory = bodyMemoryOf(config.server, worker?.count);
  const bodyBudget = createBodyBudget(bodyMemory);
  let address: RunningGateway['address'] = { host, port };
  const models = () => parts.models;
  let admin: RunningAdmin | undefined;
  const clientsUrl = () => config.server.publicUrl ?? localUrl({ host, port: address.port });
  const tasks = createVideoTasks({
    config,
    store,
    secrets,
    log,
    userAgent,
    models,
    clock,
    events: telemetry.metrics.events,
    upstream: () => parts.upstream,
    baseUrl: clientsUrl,
    wakePrimary: worker?.wake,
    createRate: worker?.createRate,
    taskCharged: (task) => accounting.admission.taskCharged(task),
  });
  const dispatch = (): DispatchOptions => ({
    memory,
    pictures: tasks.pictures,
    state,
    total: parts.config.server.deadlines.total,
    upstream: parts.upstream,
    keepAlive: parts.config.server.keepAlive,
    timer,
    userAgent,
    now: clock.now,
    stopping,
    onResponseHeaders: state.attempts.onResponseHeaders,
    trace: parts.config.usage.trace,
    async prepare(request, { provider, dialect }, client) {
      if (parts.config.responses.hostedTools === 'refuse') requireWebSearch(request);
      await refusePrivateUrls(request);
      const typed = protocolOf(dialect.protocol).operations.complete.needsMediaTypes === true;
      const inline = provider.inlinesMedia === true;
      await inlineMedia(request, { typed, inline, client }, options.fetchBytes ?? tasks.fetchBytes);
    },
  });
  const responses = openStoredResponses({
    store,
    clock,
    log,
    cipher: secrets.cipher,
    settings: () => parts.config.responses,
    events: telemetry.metrics.events,
    keys,
    wakePrimary: worker?.wake,
  });
  const operation = createOperationReadings({
    ...options,
    startedAt: clock.now(),
    parts: () => parts,
    ports: () => [address.port, admin?.address.port ?? config.admin?.port ?? address.port],
    recorder: accounting.recorder,
  });
  const dashboard = openDashboard(config, protocolOf('chat'), {
    keys,
    secrets: tasks.secrets,
    store: accounting.records,
    video: tasks.video,
    models,
    routing: state,
    admission: accounting.admission,
    tags: accounting.tags,
    refusesUnsupportedSearch: () => parts.config.responses.hostedTools === 'refuse',
    ...accounting.running,
    instance: accounting.instance,
    operation,
    clock,
    createRate: worker?.createRate,
    process,
    pages: options.pages,
    clientsUrl,
    adminUrl: () => adminUrl(config.admin, admin?.address),
  });
  const appOptions: AppOptions = {
    admission: accounting.admission,
    ...accounting.running,
    protocols,
    prefixes,
    version,
    bodyLimit,
    bodyBudget,
    connectionsPerAddress,
    websockets: () => ({
      enabled: parts.config.server.websockets,
      perKey: parts.config.server.websocketsPerKey,
      memory: Math.floor(bodyMemory / CONVERSATION_SHARE),
    }),
    trustedProxies,
    keys,
    store: accounting.records,
    models,
    stored: responses.stored,
    background: responses.background,
    streams: responses.streams,
    dispatch,
    videos: tasks.video,
    webhookSecrets: tasks.secrets,
    dashboard: dashboard.forClients,
    log,
    clock,
    observer: telemetry.observer,
    metrics: worker ? { ...telemetry.metrics, text: worker.metricsText } : telemetry.metrics,
    ...(worker && { createRate: worker.createRate }),
    isDraining: () => draining.isCancelled,
    operator: { token: config.admin?.token, local: isLoopback(host) },
  };
  const app = createApp(appOptions);
  /** Stop the work beside requests. */
  const stopFunctions: (() => void | Promise<void>)[] = [];
  let snapshots: EndpointSnapshots | undefined;

  async function close(grace?: number): Promise<void> {
    parts.models.close();
    for (const stop of stopFunctions) await stop();
    const cancelGrace = grace === undefined ? undefined : clock.after(grace, () => stopping.cancel());
    await Promise.all([app.close(), admin?.close(), tasks.stop(TASK_GRACE_MS), responses.stop(TASK_GRACE_MS)]);
    cancelGrace?.();
    // With the requests that ended meanwhile.
    await snapshots?.writeLast();
    await accounting.close();
    await parts.upstream.close();
    timer.close();
    await telemetry.close();
  }

  try {
    if (process?.role !== 'primary') address = await app.listen({ host, port });
    if (config.admin && !worker) admin = await openAdmin(config.admin);
    await tasks.start();
    responses.start(appOptions);
    if (!worker) stopFunctions.push(operation.lookAtPrices(clock, log));
    snapshots = startEndpointSnapshots({ ...options, ...accounting, clock, routing: state, models, isSole: !process });
    stopFunctions.push(snapshots.stop);
    if (config.notices) {
      const context = { config, keys, userAgent, clock, log, isWorker: worker !== undefined, wake: tasks.wake };
      stopFunctions.push((await import('./notices.ts')).startNotices({ ...context, ...accounting }));
    }
  } catch (error) {
    await close();
    throw error;
  }

  async function openAdmin(settings: AdminConfig): Promise<RunningAdmin> {
    const { startAdmin } = await import('./admin.ts');
    const { captures } = dashboard.forClients ?? {};
    const calls = config.ui.enabled ? { ...appOptions, captures, routes: app.routes } : undefined;
    return startAdmin(settings, {
      ...dashboard.forOperators,
      calls,
      protocol: protocolOf('chat'),
      log,
      clock,
      bodyBudget,
    });
  }

  return {
    get address() {
      return address;
    },
    admin: admin?.address,
    providers: () => parts.models.states(),
    discovered: () => parts.models.discovered(),
    reload(next) {
      const before = parts;
      parts = assemble(next);
      before.models.close();
      // The old upstream client serves running calls; idle connections time out.
      return needsRestart(before.config, next);
    },
    refuseReload(reason) {
      parts.refusal = reason;
    },
    metricsText: telemetry.metrics.text,
    flushed: accounting.flushed,
    wake: (kind) => (kind === RESPONSE_JOB_KIND ? responses.wake() : tasks.wake(kind)),
    findCapture: (asked) => dashboard.forClients?.captures?.find(asked),
    countRunning: accounting.countOwn,
    adoptCooldown: (circuit) => state.breaker.adopt(circuit),
    setAddress(chosen) {
      address = chosen;
    },
    forgetWorker: accounting.forgetWorker,
    drain: () => draining.cancel(),
    close,
  };
}
