"""A desktop's notification service for tests: writes every call as one line of JSON.

    notifications.py FILE        needs a session bus and Debian's python3-dbus and python3-gi

The first line is {"ready": true}: from then on, the service answers on the bus.
"""

import json
import sys

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.freedesktop.Notifications"


class Notifications(dbus.service.Object):
    def __init__(self, bus, file):
        super().__init__(bus, "/org/freedesktop/Notifications")
        self.file = file
        self.last = 0

    def record(self, **fields):
        self.file.write(json.dumps(fields, ensure_ascii=False) + "\n")

    @dbus.service.method(NAME, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, app, replaces, icon, summary, body, actions, hints, timeout):
        self.last += 1
        self.record(app=str(app), replaces=int(replaces), summary=str(summary), body=str(body), urgency=int(hints.get("urgency", 1)))
        return self.last

    @dbus.service.method(NAME, out_signature="as")
    def GetCapabilities(self):
        return ["body", "actions", "persistence"]

    @dbus.service.method(NAME, out_signature="ssss")
    def GetServerInformation(self):
        return ("agent-notify-tests", "none", "1", "1.2")

    @dbus.service.method(NAME, in_signature="u")
    def CloseNotification(self, number):
        pass


DBusGMainLoop(set_as_default=True)
BUS = dbus.SessionBus()
SERVICE = Notifications(BUS, open(sys.argv[1], "w", buffering=1, encoding="utf-8"))
# Kept in a variable: the name is given back when this object goes.
OWNED = dbus.service.BusName(NAME, BUS, do_not_queue=True)
SERVICE.record(ready=True)
GLib.MainLoop().run()
