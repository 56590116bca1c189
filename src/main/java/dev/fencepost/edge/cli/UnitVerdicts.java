package dev.fencepost.edge.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Judges the settings of a systemd unit, as {@code systemctl show} prints them. */
final class UnitVerdicts {

    static final String UNIT = "systemd";
    static final String DEFAULT_UNIT = "fencepost.service";

    /** What is asked for. */
    static final List<String> PROPERTIES = List.of(
            "LoadState",
            "User",
            "Type",
            "NotifyAccess",
            "OOMPolicy",
            "RestrictNamespaces",
            "KillMode",
            "Delegate",
            "ProtectProc",
            "ProcSubset",
            "NoNewPrivileges",
            "MemoryDenyWriteExecute",
            "CapabilityBoundingSet");

    private UnitVerdicts() {}

    /**
     * What the jobs need of the unit.
     *
     * @param runAs whether a job runs as another user
     * @param sudo id of a job that begins with sudo, or null
     * @param jvm whether the program is run by a JVM, and is no native image
     */
    record Needs(boolean runAs, @Nullable String sudo, boolean jvm) {}

    /** The unit that this process is in, by its line of {@code /proc/self/cgroup}, or null for none of the system's. */
    static @Nullable String unitOf(String cgroups) {
        for (String line : cgroups.split("\n", -1)) {
            String path = line.substring(line.lastIndexOf(':') + 1);
            if (path.contains("/system.slice/")) {
                for (String part : path.split("/", -1)) {
                    if (part.endsWith(".service")) {
                        return part;
                    }
                }
            }
        }
        return null;
    }

    /** The lines {@code Name=value}. */
    static Map<String, String> properties(String shown) {
        Map<String, String> properties = new LinkedHashMap<>();
        for (String line : shown.split("\n", -1)) {
            int equals = line.indexOf('=');
            if (equals > 0) {
                properties.put(
                        line.substring(0, equals), line.substring(equals + 1).strip());
            }
        }
        return properties;
    }

    static Verdict skipped(String why) {
        return Verdict.note(UNIT, "not checked: " + why, "");
    }

    static List<Verdict> judge(String unit, Map<String, String> properties, Needs needs) {
        if (!"loaded".equals(properties.get("LoadState"))) {
            return List.of(skipped("there is no unit " + unit + " on this host"));
        }
        List<Verdict> verdicts = new ArrayList<>();
        String kill = properties.getOrDefault("KillMode", "");
        if (kill.equals("process") || kill.equals("none")) {
            verdicts.add(Verdict.warning(
                    UNIT,
                    unit + " has KillMode=" + kill + ": children of a stopped service live on",
                    "KillMode=control-group or mixed"));
        }
        judgeNotify(unit, properties, verdicts);
        if (properties.getOrDefault("ProcSubset", "").equals("pid")) {
            verdicts.add(Verdict.bad(
                    UNIT,
                    unit + " has ProcSubset=pid, which hides /proc/uptime: there is no boot clock",
                    "ProcSubset=all"));
        }
        String protect = properties.getOrDefault("ProtectProc", "");
        if (!protect.isEmpty() && !protect.equals("default")) {
            verdicts.add(Verdict.warning(
                    UNIT,
                    unit + " has ProtectProc=" + protect + ": whether a dead runner is dead cannot be seen, and its"
                            + " lease is waited out after a crash",
                    "ProtectProc=default"));
        }
        if (needs.jvm() && isYes(properties, "MemoryDenyWriteExecute")) {
            verdicts.add(Verdict.bad(
                    UNIT,
                    unit + " has MemoryDenyWriteExecute=yes, under which a JVM does not start",
                    "MemoryDenyWriteExecute=no, or the native program"));
        }
        if (needs.sudo() != null && isYes(properties, "NoNewPrivileges")) {
            verdicts.add(Verdict.warning(
                    UNIT,
                    unit + " has NoNewPrivileges=yes, under which sudo of job " + needs.sudo() + " fails",
                    "run-as: USER in the jobs file and User=root in the unit, or NoNewPrivileges=no"));
        }
        if (needs.runAs()) {
            judgeRunAs(unit, properties, verdicts);
        }
        if (isYes(properties, "Delegate")) {
            verdicts.add(Verdict.note(UNIT, unit + " has Delegate=yes, which Fencepost does not use", "Delegate=no"));
        }
        if (verdicts.stream().allMatch(verdict -> verdict.state() == Verdict.State.NOTE)) {
            verdicts.addFirst(Verdict.ok(UNIT, unit + ": KillMode=" + kill + ", nothing in its sandbox is in the way"));
        }
        return verdicts;
    }

    private static void judgeNotify(String unit, Map<String, String> properties, List<Verdict> verdicts) {
        String access = properties.getOrDefault("NotifyAccess", "all");
        if (properties.getOrDefault("Type", "").startsWith("notify") && !access.equals("all")) {
            verdicts.add(Verdict.bad(
                    UNIT,
                    unit + " has Type=notify and NotifyAccess=" + access
                            + ": systemd does not listen to systemd-notify," + " and the start ends with a timeout",
                    "NotifyAccess=all"));
        }
        String oom = properties.getOrDefault("OOMPolicy", "continue");
        if (!oom.equals("continue")) {
            verdicts.add(Verdict.warning(
                    UNIT,
                    unit + " has OOMPolicy=" + oom + ": a child that is killed for its memory ends the whole service",
                    "OOMPolicy=continue"));
        }
        List<String> open =
                List.of(properties.getOrDefault("RestrictNamespaces", "no").split(" "));
        boolean guard = open.contains("no") || open.containsAll(List.of("user", "pid", "mnt"));
        if (!guard) {
            verdicts.add(Verdict.note(
                    UNIT,
                    unit + " closes namespaces (RestrictNamespaces): agents with a sandbox of their own do not start",
                    "deploy/systemd/drop-ins/agent.conf"));
        }
    }

    private static void judgeRunAs(String unit, Map<String, String> properties, List<Verdict> verdicts) {
        String user = properties.getOrDefault("User", "");
        if (!user.isEmpty() && !user.equals("root") && !user.equals("0")) {
            verdicts.add(Verdict.bad(
                    UNIT,
                    unit + " has User=" + user + ", and a job has run-as: only root can become another user",
                    "leave User= out, or remove run-as"));
        }
        String capabilities = properties.getOrDefault("CapabilityBoundingSet", "");
        if (!capabilities.isEmpty() && !(capabilities.contains("cap_setuid") && capabilities.contains("cap_setgid"))) {
            verdicts.add(Verdict.bad(
                    UNIT,
                    unit + " lacks CAP_SETUID or CAP_SETGID in CapabilityBoundingSet, and a job has run-as",
                    "CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_CHOWN CAP_KILL … or leave it out"));
        }
    }

    private static boolean isYes(Map<String, String> properties, String name) {
        return properties.getOrDefault(name, "").equals("yes");
    }
}
