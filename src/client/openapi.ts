// Made by `npm run schema` (scripts/client-types.mjs); do not edit.
// biome-ignore-all format: generated
// biome-ignore-all lint: generated
// biome-ignore-all assist: generated

export interface paths {
    "/gpus/pricing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The public price sheet.
         * @description One entry per GPU model, with its price in each mode and the number of free GPUs. Needs no key.
         */
        get: operations["getPricing"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/offers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Machines that can be deployed now, cheapest first.
         * @description Ordered by on-demand price of the whole machine, then higher reliability, then machine id. An unknown model or region returns an empty list. Needs no key.
         */
        get: operations["listOffers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/models/memory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * GPU memory that a language model needs in vLLM.
         * @description Computed from the model's config.json, which is read from the hub that the operator allows or sent as `config`. Each entry of `splits` is a number of GPUs with the memory that each of them needs; look for them with `num_min` in the offers. Needs no key.
         */
        post: operations["getModelMemory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/balance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Credit and spend of this month, exact to the second.
         * @description Settled at each read: every second until now is charged. The month is the UTC month.
         */
        get: operations["getBalance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/statements/{month}/signed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Signed statement of a month, with proofs of each line and of the sum.
         * @description A document of type `gpu-rental/statement/v1`, which `gpu verify` checks without a connection. The statement of the current month ends when it is issued. At most 5,000 lines.
         */
        get: operations["getSignedStatement"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The live instances of the account, newest first.
         * @description Running and stopped instances. You can still get a destroyed instance by its id.
         */
        get: operations["listInstances"];
        put?: never;
        /**
         * Rents a machine at an hourly rate that is fixed for the life of the instance.
         * @description The machine must be free. An on-demand or reserved instance can also take a machine that only an interruptible instance uses. The balance must cover one hour of everything the account would then be paying for.
         */
        post: operations["deployInstance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One instance of the account, including a destroyed one.
         * @description State, locked price, hostname and times. An instance of another account is reported as not found.
         */
        get: operations["getInstance"];
        put?: never;
        post?: never;
        /**
         * Destroys an instance; same as the action destroy.
         * @description Allowed while the instance is running or stopped. Ends all billing and erases the disk. Leaving a reserved term early repays its discount.
         */
        delete: operations["destroyInstance"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Starts, stops or destroys an instance.
         * @description `stop` ends GPU billing; the disk is billed until the instance is destroyed. `start` takes the same machine again if it is free and the balance covers it. `destroy` erases the disk.
         */
        post: operations["actOnInstance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/launch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Launch settings of an instance, its deadlines and limits.
         * @description For tools that compare it with a desired configuration. `launch` has the members of a deploy; it is null if only the template was given. Secrets are shown by name.
         */
        get: operations["getInstanceLaunch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/web-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Creates a token that grants programs access to a private web port for a day.
         * @description Send it to the URL in the header `X-Web-Token`; the container does not receive it. It becomes invalid with the API key that requested it. Without a port, it is for the first port.
         */
        post: operations["createWebToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Relaunches the workload of an instance with volumes on the best machine of another host.
         * @description The instance must be stopped, destroyed within the last 7 days, or on a host whose leases have ended because it is unreachable, and its volumes must be saved. Returns the new instance, at the current price. The old instance keeps its own disk until it is destroyed.
         */
        post: operations["moveInstance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/statements/{month}/invoice": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Invoice for a UTC month, as an HTML page.
         * @description The page has no scripts or external resources, and is ready to print.
         */
        get: operations["getInvoice"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Current metrics of an instance, in the Prometheus text format.
         * @description The newest sample of the last 60 s, in base units. Without one, only whether the instance is running. In your Prometheus, set `honor_labels` and scrape at most every 10 s.
         */
        get: operations["scrapeInstance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/statements/{month}/focus": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The cost of a UTC month as CSV in FOCUS 1.2.
         * @description One row per resource, kind of charge and UTC day, with the columns of the FinOps Open Cost and Usage Specification. The month has the form 2026-11. Payments are not included.
         */
        get: operations["exportFocus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/metrics/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics of an instance over time, by default the last hour.
         * @description In the finest steps that cover the whole period: 10 s are kept for an hour, 60 s for 2 days, 900 s for 90 days. Times without measurements have no point.
         */
        get: operations["getInstanceMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Everything known to have happened to an instance, newest first.
         * @description Deploy, starts, stops and their reasons, events of its container and machine, its volumes, and mutations by the account's keys in the last 90 days. For older entries, pass the page's `end_cursor` as `after`.
         */
        get: operations["getInstanceTimeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/volumes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The volumes of the account, oldest first.
         * @description At most 100. You can still get a deleted volume by its id.
         */
        get: operations["listVolumes"];
        put?: never;
        /**
         * Creates a volume, billed per second until it is deleted.
         * @description Its rate per GB-hour is fixed for life. The balance must cover one hour of everything the account would then be paying for.
         */
        post: operations["createVolume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/volumes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One volume of the account, with its snapshots.
         * @description Including a deleted one. Returns the newest 100 snapshots, newest first. A volume of another account is reported as not found.
         */
        get: operations["getVolume"];
        put?: never;
        post?: never;
        /**
         * Deletes a volume with all its snapshots.
         * @description Refused while an instance holds its lease. Ends its billing.
         */
        delete: operations["deleteVolume"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/volumes/{id}/grow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Grows a volume; a volume can't shrink.
         * @description Billed at the new size starting with the next second. An instance that uses it sees the new size after its next start.
         */
        post: operations["growVolume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/volumes/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Releases a volume from an instance that isn't running, even if changes are not saved.
         * @description For a host that is lost, or that doesn't report that it has finished. Everything the instance wrote since `lost_since` is lost.
         */
        post: operations["releaseVolume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/log/roots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Signed roots of the public log, oldest first.
         * @description A document of type `gpu-rental/roots/v1` with at most 1,000 roots. Request the next ones with the number of the last. Needs no key.
         */
        get: operations["getLogRoots"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/log/consistency": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Proof that one tree of the public log extends another.
         * @description A document of type `gpu-rental/consistency/v1`, as RFC 9162 defines it, between two tree sizes. Needs no key.
         */
        get: operations["getLogConsistency"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/log/inclusion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Proof that the newest root of the public log covers the account's ledger.
         * @description A document of type `gpu-rental/inclusion/v1`. Not found before the first hourly root after the first ledger entry.
         */
        get: operations["getLogInclusion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ActionRequest: {
            /**
             * @description Action to perform on the instance.
             * @enum {string}
             */
            action: "start" | "stop" | "destroy";
        };
        /** @description A mutation requested with one of the account's keys. */
        Activity: {
            /**
             * Format: date-time
             * @description Time of the request; of combined refusals, the last one.
             */
            at: string;
            /** @description The GraphQL mutation, also for REST requests; start, stop or destroy for an action. */
            operation: string;
            /** @description Ids and names that the request referred to, never values. */
            targets: string[];
            /** @description The API key that requested it. */
            key_id: string;
            /** @description Whether it was requested by a console session created with that key. */
            by_console: boolean;
            /** @description Address of the client. */
            address: string;
            /** @description Error code if it was refused; null if it succeeded. */
            code: string | null;
            /** @description Number of refusals in this entry. Refusals with the same key, operation and code within a clock hour are combined. */
            times: number;
        };
        /** @description A volume mounted in an instance. */
        AttachedVolume: {
            /** @description Volume id: `v-` and 8 hex characters. */
            id: string;
            /** @description Mount path in the container. */
            path: string;
        };
        /** @description The account's credit and spend, accurate to the second. */
        Balance: {
            /** @constant */
            object: "balance";
            /** @description Always USD. */
            currency: string;
            /** @description Remaining credit. Only the disks of stopped instances and volumes can take it below zero. */
            balance: number;
            /** @description Spend since the first of the UTC month. */
            month_spend: number;
        };
        CreateVolumeRequest: {
            /** @description Your name for the volume; doesn't have to be unique. */
            name: string;
            /** @description Size of the volume in GB. A volume can grow but not shrink. */
            size_gb: number;
        };
        DeployRequest: {
            /** @description Id of the machine to rent, from the offers. */
            machine_id: string;
            /** @description A template slug or an OCI image reference. The machine's host agent pulls the image and runs it in a container. On a machine without an agent, it is only recorded. */
            template?: string | null;
            /** @description Disk size in GB, from 1 to the machine's free disk (the offer's disk). */
            disk_gb?: number | null;
            /** @description Pricing mode of the instance. */
            type?: ("od" | "interruptible" | "res" | "spot") | null;
            /** @description Your name for the instance; doesn't have to be unique. By default, the instance id. */
            name?: string | null;
            /** @description Environment variables of the container, by name. They override the template's variables. Variables that the service sets override them. */
            env?: {
                [key: string]: string;
            } | null;
            /** @description Secrets of the account to pass to the container, each as a variable or as a file below /run/secrets that only root can read. */
            secrets?: {
                secret: string;
                variable?: string | null;
                file?: string | null;
            }[] | null;
            /** @description Replaces the image's entrypoint. The image's own command is then ignored. */
            entrypoint?: string[] | null;
            /** @description Replaces the image's command, i.e. the arguments of its entrypoint. */
            command?: string[] | null;
            /** @description Ports on which programs in the container serve HTTP, in addition to the template's. */
            ports?: {
                port: number;
                name?: string | null;
            }[] | null;
            /** @description Ports that anyone can reach by TCP. Each gets a port of the service, which the instance keeps until it is destroyed. */
            tcp_ports?: number[] | null;
            /** @description Name of the registry login, a secret of the account, with which the image is pulled. */
            registry_login?: string | null;
            /** @description User of the command, of commands by SSH and of terminals: root, or a name or number as for Docker's `--user`. By default the image's own. Names are read from the image's /etc/passwd and /etc/group. Capabilities and limits don't depend on the user. */
            user?: string | null;
            /** @description Whether to start the command again when it ends. By default ALWAYS. */
            restart?: ("always" | "on_failure" | "never") | null;
            /** @description Action when the command has ended and isn't restarted. By default KEEP. */
            on_exit?: ("keep" | "stop" | "destroy") | null;
            /** @description When to stop the instance automatically. Its disk is kept. Its GPUs are billed until that second. Format: a time from now such as 90m, 8h or 2d12h, or an instant such as 2026-11-23T18:00:00Z. */
            stop_at?: string | null;
            /** @description When to destroy the instance, with its disk, automatically. It is billed until that second. Format: a time from now such as 90m, 8h or 2d12h, or an instant such as 2026-11-23T18:00:00Z. */
            destroy_at?: string | null;
            /** @description Maximum total cost of the instance in USD: GPUs, disk, the minimum after preempting another instance, and an early exit. The instance stops at the second in which it reaches the limit. Its disk is kept and billed. */
            spend_limit?: number | null;
            /** @description Minutes of idleness after which the instance stops automatically: no GPU was more than 5% busy and no client was connected. Its disk is kept and billed. Requires a machine whose host agent reports GPU load. This is a convenience that trusts the agent; use a spend limit to cap costs. */
            stop_when_idle?: number | null;
            /** @description Labels of the instance, by key, for finding it in lists. They have no effect on the container and can be changed later. */
            labels?: {
                [key: string]: string;
            } | null;
            /** @description Volumes of the account to mount in the container, each at its path. A volume can be in one instance at a time. A volume at /workspace replaces that folder of the instance's own disk. */
            volumes?: {
                id: string;
                path: string;
            }[] | null;
        };
        /** @description One rental of a machine. */
        DestroyedInstance: {
            /** @constant */
            object: "instance";
            /** @description `i-` and 8 hex characters. */
            id: string;
            /**
             * @description State of the instance.
             * @enum {string}
             */
            status: "running" | "stopped" | "destroyed";
        };
        Error: {
            error: {
                /** @enum {string} */
                code: "invalid_json" | "unauthorized" | "forbidden" | "not_found" | "no_route" | "method_not_allowed" | "deploy_failed" | "action_failed" | "idempotency_in_progress" | "payload_too_large" | "invalid_request" | "missing_machine" | "bad_action" | "idempotency_mismatch" | "rate_limited" | "internal" | "unavailable";
                message: string;
            };
        };
        /** @description CSV with a header. */
        FocusCsv: string;
        /** @description Metrics of one GPU over the seconds of a point. Several samples are averaged. */
        GpuMetrics: {
            /** @description Index among the instance's GPUs, starting at 0. */
            place: number;
            /** @description Share of time in which a kernel was running, in percent. Null if unknown. */
            busy_percent: number | null;
            /** @description Highest such share in one sample, in percent. Null if unknown. */
            busy_max_percent: number | null;
            /** @description Memory in use, in MiB. Null if unknown. */
            memory_used_mb: number | null;
            /** @description Total memory, in MiB. Null if unknown. */
            memory_total_mb: number | null;
            /** @description Power draw, in watts. Null if unknown. */
            power_watts: number | null;
            /** @description Temperature in degrees Celsius. Null if unknown. */
            celsius: number | null;
            /** @description Clock of the streaming multiprocessors, in MHz. Null if unknown. */
            sm_mhz: number | null;
            /** @description Uncorrectable memory errors since the host loaded its driver. Null if unknown. */
            faults: number | null;
            /** @description Processes computing on the GPU. Null if unknown. */
            processes: number | null;
        };
        /** @description Price of one GPU model. */
        GpuPrice: {
            /** @description Slug of the model. */
            slug: string;
            /** @description Display name of the model. */
            name: string;
            /** @description Video memory of one GPU in GB. */
            vram_gb: number;
            /**
             * @description Class of the model.
             * @enum {string}
             */
            tier: "flagship" | "datacenter" | "consumer-flagship" | "consumer";
            /** @description USD per GPU-hour. */
            price_per_gpu_hour: components["schemas"]["ModePrices"];
            /** @description Market median in USD per GPU-hour at the snapshot date; null with fewer than 5 listings. */
            market_median: number | null;
            /** @description GPUs in the model's offers now. */
            available_gpus: number;
            /** @description URL of the model's offers. */
            url: string;
        };
        GrowVolumeRequest: {
            /** @description Size of the volume in GB. A volume can grow but not shrink. */
            size_gb: number;
        };
        /** @description One rental of a machine. */
        Instance: {
            /** @constant */
            object: "instance";
            /** @description `i-` and 8 hex characters. */
            id: string;
            /**
             * @description State of the instance.
             * @enum {string}
             */
            status: "running" | "stopped" | "destroyed";
            /** @description Slug of the GPU model. */
            gpu: string;
            /** @description Number of GPUs in the machine. */
            num_gpus: number;
            /** @description Region code. */
            region: string;
            /** @description Template slug or OCI image reference. */
            template: string;
            /** @description Disk size in GB. */
            disk_gb: number;
            /**
             * @description Pricing mode.
             * @enum {string}
             */
            type: "od" | "spot" | "res";
            /** @description Locked rate of the whole machine in USD per hour, excluding disk. */
            price_hr: number;
            /** @description Hostname of the instance. */
            hostname: string;
            /**
             * Format: date-time
             * @description First billed second.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description End of the second in which it stopped, the last one billed for GPUs. Null while it is running.
             */
            stopped_at: string | null;
        };
        /** @description One rental of a machine. */
        InstanceLaunch: {
            /** @constant */
            object: "instance_launch";
            /** @description `i-` and 8 hex characters. */
            id: string;
            /** @description Name given by its launch; by default its id. */
            name: string;
            /** @description Template slug or OCI image reference. */
            template: string;
            /** @description Disk size in GB. */
            disk_gb: number;
            /**
             * @description Pricing mode.
             * @enum {string}
             */
            type: "od" | "spot" | "res";
            /**
             * Format: date-time
             * @description The second in which it stops automatically. Null if none is set, or after it has passed.
             */
            stop_at: string | null;
            /**
             * Format: date-time
             * @description The second in which it is destroyed automatically; null if none is set.
             */
            destroy_at: string | null;
            /** @description Maximum total cost; null for no limit. */
            spend_limit: number | null;
            /** @description Minutes without a busy GPU and without connections after which it stops; null to keep running. */
            stop_when_idle: number | null;
            /** @description Labels by key; an empty object if there are none. */
            labels: {
                [key: string]: string;
            };
            /** @description Volumes of the instance, by path. */
            volumes: components["schemas"]["AttachedVolume"][];
            /** @description Launch settings given by the renter, in addition to template and disk; null if none were given. */
            launch: components["schemas"]["Launch"] | null;
        };
        InstanceList: {
            /** @constant */
            object: "instances";
            data: components["schemas"]["Instance"][];
        };
        /** @description Metrics of an instance over a period. */
        InstanceMetrics: {
            /** @constant */
            object: "instance_metrics";
            /** @description Seconds of each point. */
            step_seconds: number;
            /** @description Points, oldest first. Times without measurements have no point. */
            points: components["schemas"]["MetricPoint"][];
        };
        /** @description A complete HTML page. */
        InvoicePage: string;
        /** @description Launch settings given by the renter, in addition to template and disk. Secrets are shown only by name. */
        Launch: {
            /** @description The renter's name for the instance. */
            name: string | null;
            /** @description Variables by name. */
            env: {
                [key: string]: string;
            };
            /** @description Secrets. */
            secrets: components["schemas"]["LaunchSecret"][];
            /** @description Entrypoint; null for the image's own. */
            entrypoint: string[] | null;
            /** @description Command; null for that of the template or image. */
            command: string[] | null;
            /** @description Ports. */
            ports: components["schemas"]["LaunchPort"][];
            /** @description TCP ports. */
            tcp_ports: number[];
            /** @description Name of the registry login. */
            registry_login: string | null;
            /** @description User of the container; null for the image's own. */
            user: string | null;
            /**
             * @description When to restart the command.
             * @enum {string}
             */
            restart: "always" | "never" | "on_failure";
            /**
             * @description Action when the command ends.
             * @enum {string}
             */
            on_exit: "destroy" | "keep" | "stop";
        };
        /** @description A port on which a program in the container serves HTTP. */
        LaunchPort: {
            /** @description Port in the container. */
            port: number;
            /** @description Display name. */
            name: string | null;
        };
        /** @description A secret passed to the container. */
        LaunchSecret: {
            /** @description Name of the secret. */
            secret: string;
            /** @description Name of the variable; null for a file. */
            variable: string | null;
            /** @description Name below /run/secrets; null for a variable. */
            file: string | null;
        };
        /** @description A JSON document, whose members docs/proofs.md defines by its `type`. */
        LogConsistency: {
            type: string;
        } & {
            [key: string]: unknown;
        };
        /** @description A JSON document, whose members docs/proofs.md defines by its `type`. */
        LogInclusion: {
            type: string;
        } & {
            [key: string]: unknown;
        };
        /** @description A JSON document, whose members docs/proofs.md defines by its `type`. */
        LogRoots: {
            type: string;
        } & {
            [key: string]: unknown;
        };
        /** @description Metrics of an instance, measured by the host agent of its machine, over the seconds starting at `at`. Several samples are averaged. */
        MetricPoint: {
            /**
             * Format: date-time
             * @description The first second.
             */
            at: string;
            /** @description Use of its vCPUs, in percent. Null if unknown. */
            cpu_percent: number | null;
            /** @description Memory in use, excluding reclaimable cache. Null if unknown. */
            memory_used_bytes: number | null;
            /** @description Disk in use. Null if unknown. */
            disk_used_bytes: number | null;
            /** @description Bytes received per second. Null if unknown. */
            network_in_bytes_per_second: number | null;
            /** @description Bytes sent per second. Null if unknown. */
            network_out_bytes_per_second: number | null;
            /** @description Processes and threads in its container. Null if unknown. */
            processes: number | null;
            /** @description Its GPUs, by place. */
            gpus: components["schemas"]["GpuMetrics"][];
        };
        /** @description USD per GPU-hour in each mode, billed per second. */
        ModePrices: {
            /** @description On demand. */
            on_demand: number;
            /** @description Interruptible. */
            interruptible: number;
            /** @description Reserved for 3 months. */
            reserved: number;
        };
        /** @description The GPU memory that a language model needs in vLLM. */
        ModelMemory: {
            /** @constant */
            object: "model_memory";
            /** @description The model as `owner/name`; null if only a config.json was given. */
            model: string | null;
            /** @description Class that implements the model; null if the config.json names none. */
            architecture: string | null;
            /** @description Number of parameters. */
            parameters: number;
            /** @description Bits per parameter, without the scales of quantised groups. */
            weight_bits: number;
            /**
             * @description Source of the size of the weights.
             * @enum {string}
             */
            weights_from: "config" | "hub" | "request";
            /** @description Size of the weights in memory, in bytes. */
            weight_bytes: number;
            /** @description Size of the KV cache per token, in bytes. */
            kv_bytes_per_token: number;
            /** @description Size of the KV cache for `concurrency` requests of `contextLength` tokens, in bytes. */
            kv_bytes: number;
            /** @description Tokens per request. */
            context_length: number;
            /** @description The model's maximum of tokens per request; null if the config.json states none. */
            max_context_length: number | null;
            /** @description Number of concurrent requests of this length. */
            concurrency: number;
            /** @description Recommended disk in GB, for vLLM's image and the weights. */
            disk_gb: number;
            /** @description The memory per GPU for each possible number of GPUs, fewest first. */
            splits: components["schemas"]["ModelSplit"][];
        };
        ModelMemoryRequest: {
            /** @description The model: `owner/name`, or its URL on the hub. */
            model?: string | null;
            /** @description The text of the model's config.json. With it, the hub isn't read. */
            config?: string | null;
            /** @description Tokens per request, prompt and answer together. At most the model's maximum. By default 8192, or that maximum if it is lower. */
            context_length?: number | null;
            /** @description Number of requests of this length that are in progress at the same time. */
            concurrency?: number | null;
            /** @description Number of parameters in billions, if the formula doesn't cover the model's layers. */
            parameters_in_billions?: number | null;
            /** @description Bits per parameter: 16, or 8 or 4 for a quantised model. By default as the config.json states. */
            weight_bits?: (4 | 8 | 16) | null;
        };
        /** @description The memory that a model needs if it is split across a number of GPUs by tensor parallelism. */
        ModelSplit: {
            /** @description Number of GPUs, by which the attention heads and the layers can be divided. */
            gpus: number;
            /** @description Minimum memory per GPU in GB, of which vLLM uses 90%. */
            vram_gb_min: number;
            /** @description Weights on each GPU, in bytes. */
            weight_bytes_per_gpu: number;
            /** @description KV cache on each GPU, in bytes. */
            kv_bytes_per_gpu: number;
            /** @description CUDA context, communication and activations on each GPU, in bytes. */
            overhead_bytes_per_gpu: number;
        };
        MoveRequest: {
            /** @description Maximum price in USD per hour for the whole machine in the chosen mode, excluding disk. */
            max_price_per_hour?: number | null;
        };
        /** @description Network bandwidth in megabits per second. */
        NetMbps: {
            /** @description Download. */
            down: number;
            /** @description Upload. */
            up: number;
        };
        /** @description A machine that can be deployed now, with its price. */
        Offer: {
            /** @description Machine id to pass to deploy. */
            machine_id: string;
            /** @description Slug of the GPU model. */
            gpu: string;
            /** @description Number of GPUs in the machine, 1 to 8. It is rented as a whole. */
            num_gpus: number;
            /** @description Region code. */
            region: string;
            /** @description CPU model. */
            cpu: string;
            /** @description Virtual CPUs. */
            vcpus: number;
            /** @description Memory in GB. */
            ram_gb: number;
            /** @description Free disk in GB for a new instance. */
            disk_gb: number;
            /** @description Network bandwidth. */
            net_mbps: components["schemas"]["NetMbps"];
            /** @description Number of ports that can be opened to the internet. */
            ports: number;
            /** @description PCIe generation. */
            pcie: number;
            /** @description Whether the GPUs are linked by NVLink. */
            nvlink: boolean;
            /** @description Highest CUDA version its driver supports; empty for AMD. */
            cuda_max: string;
            /** @description Uptime of the machine as a fraction, 0 to 1. */
            reliability: number;
            /** @description Price of the whole machine. */
            price_per_hour: components["schemas"]["OfferPrices"];
        };
        OfferList: {
            /** @constant */
            object: "offers";
            count: number;
            data: components["schemas"]["Offer"][];
        };
        /** @description USD per hour for the whole machine. */
        OfferPrices: {
            /** @description On demand. */
            on_demand: number;
            /** @description Interruptible. */
            interruptible: number;
        };
        /** @description Position of a page in its list. */
        PageInfo: {
            /** @description Whether more entries follow. */
            has_next_page: boolean;
            /** @description Whether there are earlier entries. */
            has_previous_page: boolean;
            /** @description Cursor of the first entry; null on an empty page. */
            start_cursor: string | null;
            /** @description Cursor of the last entry; null on an empty page. */
            end_cursor: string | null;
        };
        /** @description The public price sheet. */
        PriceSheet: {
            /** @constant */
            object: "gpu_pricing";
            /** @description Always USD. */
            currency: string;
            /** @description Always per_second. */
            billing: string;
            /** @description The pricing formula as text. */
            price_rule: string;
            /**
             * Format: date
             * @description Date to which the prices refer.
             */
            market_snapshot: string;
            /** @description Number of entries in data. */
            count: number;
            /** @description One entry per GPU model. */
            data: components["schemas"]["GpuPrice"][];
        };
        /** @description Prometheus's text format. */
        PrometheusText: string;
        /** @description A JSON document, whose members docs/proofs.md defines by its `type`. */
        SignedStatement: {
            type: string;
        } & {
            [key: string]: unknown;
        };
        /** @description A page of timeline entries. */
        Timeline: {
            /** @constant */
            object: "timeline";
            /** @description Position of this page in its list. */
            page_info: components["schemas"]["PageInfo"];
            data: components["schemas"]["TimelineEntry"][];
        };
        /** @description One event in an instance's timeline. Fields that don't apply to its kind are null. */
        TimelineEntry: {
            /** @description Position of this entry: pass it as after or before to continue from here. */
            cursor: string;
            /**
             * Format: date-time
             * @description Time of the event.
             */
            at: string;
            /**
             * @description Kind of event.
             * @enum {string}
             */
            kind: "changed" | "credited" | "destroyed" | "failed" | "gpu_back" | "gpu_missing" | "idle" | "limit_reached" | "reachable" | "rented" | "running" | "started" | "stopped" | "unreachable" | "volume_lost" | "volume_stored";
            /** @description For a start: rate of GPUs and disk afterwards, in USD per hour. */
            rate_per_hour: number | null;
            /** @description For a stop: cost of its GPUs since the start. For a service credit: the amount. */
            amount: number | null;
            /** @description For a stop: seconds since the start. For a service credit: the seconds credited. */
            seconds: number | null;
            /** @description For a stop: the reason. Null if an earlier version didn't record it. */
            stop_reason: ("account_suspended" | "balance_exhausted" | "command_ended" | "deadline" | "idle" | "operator" | "preempted" | "spend_limit" | "start_failed" | "user") | null;
            /** @description For a service credit: the reason. */
            credit_reason: ("outage" | "slow_start" | "start_failed" | "template_start") | null;
            /** @description For a failed start: whether the machine was at fault. */
            host_fault: boolean | null;
            /** @description The volume. */
            volume_id: string | null;
            /** @description Name of the volume. */
            volume_name: string | null;
            /** @description For a stored snapshot: total size of its files; null if unknown. */
            size_bytes: number | null;
            /** @description The request that caused it; null if no key requested it, and after 90 days. */
            asked: components["schemas"]["Activity"] | null;
        };
        /** @description A disk of the account that outlives the machines of its instances. */
        Volume: {
            /** @constant */
            object: "volume";
            /** @description `v-` and 8 hex characters. */
            id: string;
            /** @description The owner's name for the volume. */
            name: string;
            /** @description Size in GB. */
            size_gb: number;
            /** @description Price of its size in USD per hour, at the rate locked at creation. */
            price_hr: number;
            /**
             * Format: date-time
             * @description First billed second.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Time until which it was billed; null while it exists.
             */
            deleted_at: string | null;
            /** @description The instance that holds its lease, from the instance's start until its last snapshot is stored; null if none does. */
            in_use_by: string | null;
            /** @description Bytes that its snapshots take, compressed and deduplicated. */
            stored_bytes: number;
            /**
             * Format: date-time
             * @description Time at which its newest snapshot was stored; null before the first.
             */
            last_snapshot_at: string | null;
        };
        VolumeList: {
            /** @constant */
            object: "volumes";
            data: components["schemas"]["Volume"][];
        };
        /** @description A volume whose lease was ended by force. */
        VolumeRelease: {
            /** @constant */
            object: "volume_release";
            /** @description The volume, which is free now. */
            volume_id: string;
            /** @description The instance that held the lease. */
            instance_id: string;
            /**
             * Format: date-time
             * @description Time since which changes by the instance are lost; null if it never had access.
             */
            lost_since: string | null;
        };
        /** @description Contents of a volume at one moment. */
        VolumeSnapshot: {
            /** @description restic's id of the snapshot: 64 hex characters. */
            id: string;
            /**
             * Format: date-time
             * @description Time at which its last byte was stored.
             */
            at: string;
            /** @description Total size of its files in bytes; null if unknown. */
            size_bytes: number | null;
            /** @description The instance that wrote it; null if the owner created it. */
            instance_id: string | null;
        };
        /** @description A disk of the account that outlives the machines of its instances. */
        VolumeWithSnapshots: {
            /** @constant */
            object: "volume";
            /** @description `v-` and 8 hex characters. */
            id: string;
            /** @description The owner's name for the volume. */
            name: string;
            /** @description Size in GB. */
            size_gb: number;
            /** @description Price of its size in USD per hour, at the rate locked at creation. */
            price_hr: number;
            /**
             * Format: date-time
             * @description First billed second.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Time until which it was billed; null while it exists.
             */
            deleted_at: string | null;
            /** @description The instance that holds its lease, from the instance's start until its last snapshot is stored; null if none does. */
            in_use_by: string | null;
            /** @description Bytes that its snapshots take, compressed and deduplicated. */
            stored_bytes: number;
            /**
             * Format: date-time
             * @description Time at which its newest snapshot was stored; null before the first.
             */
            last_snapshot_at: string | null;
            /** @description Its snapshots, newest first; at most 100. */
            snapshots: components["schemas"]["VolumeSnapshot"][];
        };
        /** @description A token that grants programs such as curl or an SDK access to a private port. */
        WebToken: {
            /** @constant */
            object: "web_token";
            /** @description Send it with each request. It is shown only once. */
            token: string;
            /** @description The header that carries it; the container does not receive it. */
            header: string;
            /** @description URL of the port. */
            url: string;
            /**
             * Format: date-time
             * @description Expiry time, one day after creation.
             */
            expires_at: string;
        };
        WebTokenRequest: {
            /** @description Port that a program in the container listens on. */
            port?: number | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getPricing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PriceSheet"];
                };
            };
        };
    };
    listOffers: {
        parameters: {
            query?: {
                /** @description Slug or name of a GPU model, as in the price sheet. A name such as H100 matches all its models. */
                gpu?: string;
                /** @description Region code. */
                region?: string;
                /** @description Minimum number of GPUs in the machine. */
                num_min?: number;
                /** @description Maximum on-demand price in USD per hour for the whole machine. */
                price_max?: number;
                /** @description Minimum CUDA version that the driver supports, such as 12.4. AMD machines never match. */
                cuda_min?: string;
                /** @description Maximum number of offers returned. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OfferList"];
                };
            };
        };
    };
    getModelMemory: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ModelMemoryRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelMemory"];
                };
            };
        };
    };
    getBalance: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Balance"];
                };
            };
        };
    };
    getSignedStatement: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description UTC month, such as 2026-11. */
                month: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedStatement"];
                };
            };
        };
    };
    listInstances: {
        parameters: {
            query?: {
                /** @description Labels that instances must have, separated by commas: `key=value`, or `key` for any value. For example team=vision,experiment. */
                labels?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InstanceList"];
                };
            };
        };
    };
    deployInstance: {
        parameters: {
            query?: never;
            header?: {
                /** @description A string of your choice that identifies this request. Repeating the request within 24 hours with the same key and input returns the first response and has no further effect. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeployRequest"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    getInstance: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other string is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    destroyInstance: {
        parameters: {
            query?: never;
            header?: {
                /** @description A string of your choice that identifies this request. Repeating the request within 24 hours with the same key and input returns the first response and has no further effect. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other string is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DestroyedInstance"];
                };
            };
        };
    };
    actOnInstance: {
        parameters: {
            query?: never;
            header?: {
                /** @description A string of your choice that identifies this request. Repeating the request within 24 hours with the same key and input returns the first response and has no further effect. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other string is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "action": "stop"
                 *     }
                 */
                "application/json": components["schemas"]["ActionRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    getInstanceLaunch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other string is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InstanceLaunch"];
                };
            };
        };
    };
    createWebToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other string is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebTokenRequest"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebToken"];
                };
            };
        };
    };
    moveInstance: {
        parameters: {
            query?: never;
            header?: {
                /** @description A string of your choice that identifies this request. Repeating the request within 24 hours with the same key and input returns the first response and has no further effect. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other string is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MoveRequest"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    getInvoice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description UTC month, such as 2026-11. */
                month: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": components["schemas"]["InvoicePage"];
                };
            };
        };
    };
    scrapeInstance: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other string is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": components["schemas"]["PrometheusText"];
                };
            };
        };
    };
    exportFocus: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description UTC month, such as 2026-11. */
                month: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": components["schemas"]["FocusCsv"];
                };
            };
        };
    };
    getInstanceMetrics: {
        parameters: {
            query?: {
                /** @description Start of the period, inclusive. By default, an hour before the end. Format: an instant such as 2026-11-23T18:00:00Z. */
                from?: string;
                /** @description End of the period, exclusive. By default, or if it is in the future, now. Format: an instant such as 2026-11-23T18:00:00Z. */
                to?: string;
                /** @description Maximum number of points. If the period has more, adjacent points are merged. */
                points?: number;
            };
            header?: never;
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other string is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InstanceMetrics"];
                };
            };
        };
    };
    getInstanceTimeline: {
        parameters: {
            query?: {
                /** @description Number of entries from the start, 1 to 100; by default 25. */
                first?: number;
                /** @description The page starts after this cursor. */
                after?: string;
                /** @description Number of entries from the end, 1 to 100. */
                last?: number;
                /** @description The page ends before this cursor. */
                before?: string;
            };
            header?: never;
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other string is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Timeline"];
                };
            };
        };
    };
    listVolumes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeList"];
                };
            };
        };
    };
    createVolume: {
        parameters: {
            query?: never;
            header?: {
                /** @description A string of your choice that identifies this request. Repeating the request within 24 hours with the same key and input returns the first response and has no further effect. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "work",
                 *       "size_gb": 200
                 *     }
                 */
                "application/json": components["schemas"]["CreateVolumeRequest"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Volume"];
                };
            };
        };
    };
    getVolume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Volume id: `v-` and 8 hex characters. Any other string is an unknown volume. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeWithSnapshots"];
                };
            };
        };
    };
    deleteVolume: {
        parameters: {
            query?: never;
            header?: {
                /** @description A string of your choice that identifies this request. Repeating the request within 24 hours with the same key and input returns the first response and has no further effect. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Volume id: `v-` and 8 hex characters. Any other string is an unknown volume. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Volume"];
                };
            };
        };
    };
    growVolume: {
        parameters: {
            query?: never;
            header?: {
                /** @description A string of your choice that identifies this request. Repeating the request within 24 hours with the same key and input returns the first response and has no further effect. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Volume id: `v-` and 8 hex characters. Any other string is an unknown volume. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "size_gb": 200
                 *     }
                 */
                "application/json": components["schemas"]["GrowVolumeRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Volume"];
                };
            };
        };
    };
    releaseVolume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Volume id: `v-` and 8 hex characters. Any other string is an unknown volume. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeRelease"];
                };
            };
        };
    };
    getLogRoots: {
        parameters: {
            query?: {
                /** @description Number of the root after which to begin. The first root has number 1. */
                after?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogRoots"];
                };
            };
        };
    };
    getLogConsistency: {
        parameters: {
            query: {
                /** @description Size of the older tree. */
                first: number;
                /** @description Size of the newer tree: at most the size in the newest root. */
                second: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogConsistency"];
                };
            };
        };
    };
    getLogInclusion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogInclusion"];
                };
            };
        };
    };
}
